import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ProductError } from '../../errors/product-error.ts';
import { formatImageName } from '../../oci/image-name.ts';
import type { CommandContext } from '../command.ts';
import { firstSentence } from '../env-arguments.ts';
import { expandHome } from '../expand-home.ts';
import { layoutIn } from './layout-in.ts';
import { parsePushTarget, pushOptions, pushUsage } from './push-arguments.ts';
import { pushLayout } from './push-layout.ts';

export const pushVerbUsage = `push FOLDER HOST/REPOSITORY[:TAG] ${pushUsage}`;

/** `stemcell push`: brings an image that was built, here or elsewhere, to a registry. */
export async function pushStemcell(words: readonly string[], context: CommandContext): Promise<number> {
  const { values, positionals } = parseWords(words);
  const [folder, name, ...others] = positionals;
  if (folder === undefined || name === undefined || others.length > 0)
    throw new ProductError(
      'INVALID_ARGUMENT',
      `'stemcell push' wants a folder and a name. Usage: stemcell ${pushVerbUsage}`,
    );
  const target = parsePushTarget(name, values);
  const digest = await pushLayout(await layoutIn(resolve(expandHome(folder))), target, context);
  context.terminal.out(`${formatImageName(target.image)}@${digest}\n`);
  return 0;
}

function parseWords(words: readonly string[]) {
  try {
    return parseArgs({ args: [...words], options: pushOptions, allowPositionals: true, strict: true });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new ProductError(
      'INVALID_ARGUMENT',
      `${firstSentence(error.message)}. Usage: stemcell ${pushVerbUsage}`,
    );
  }
}
