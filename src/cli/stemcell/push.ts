import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ProductError } from '../../errors/product-error.ts';
import { formatImageName } from '../../oci/image-reference.ts';
import { readPublished, renamePublished } from '../../stemcell/rename-stemcell.ts';
import type { CommandContext } from '../command.ts';
import { firstSentence } from '../env-arguments.ts';
import { expandHome } from '../expand-home.ts';
import { findLayout } from './layout-in.ts';
import { parsePushTarget, pushOptions, pushUsage } from './push-arguments.ts';
import { pushLayout } from './push-layout.ts';

export const pushVerbUsage = `push FOLDER HOST/REPOSITORY[:TAG] [--reference NAME] ${pushUsage}`;

/**
 * Runs `stemcell push`: pushes an image that was built, here or elsewhere, to a registry. If `stemcell build`
 * made a light stemcell beside it, that stemcell names the pushed image from then on.
 */
export async function pushStemcell(words: readonly string[], context: CommandContext): Promise<number> {
  const { values, positionals } = parseWords(words);
  const [folder, name, ...others] = positionals;
  if (folder === undefined || name === undefined || others.length > 0)
    throw new ProductError(
      'INVALID_ARGUMENT',
      `'stemcell push' wants a folder and a name. Usage: stemcell ${pushVerbUsage}`,
    );
  const target = parsePushTarget(name, values);
  const place = resolve(expandHome(folder));
  // Read this before anything is sent.
  const stemcell = await readPublished(place);
  const imageReference = formatImageName(target.image);
  const imageDigest = await pushLayout(await findLayout(place), target, context, values.reference);
  if (stemcell !== undefined) {
    const archive = await renamePublished(place, { ...stemcell, imageReference, imageDigest });
    context.terminal.error(`Light stemcell '${archive}' names that image now`);
  }
  context.terminal.out(`${imageReference}@${imageDigest}\n`);
  return 0;
}

function parseWords(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      options: { ...pushOptions, reference: { type: 'string' } },
      allowPositionals: true,
      strict: true,
    });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new ProductError(
      'INVALID_ARGUMENT',
      `${firstSentence(error.message)}. Usage: stemcell ${pushVerbUsage}`,
    );
  }
}
