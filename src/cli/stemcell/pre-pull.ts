import { parseArgs } from 'node:util';
import { stringify } from 'yaml';
import { ProductError } from '../../errors/product-error.ts';
import { readImageReference } from '../../oci/image-reference.ts';
import { prePullManifest } from '../../stemcell/pre-pull-manifest.ts';
import type { CommandContext } from '../command.ts';
import { firstSentence } from '../env-arguments.ts';

export const prePullUsage = 'pre-pull IMAGE [--namespace NAME] [--image-pull-secret NAME]...';
const options = {
  namespace: { type: 'string' },
  'image-pull-secret': { type: 'string', multiple: true },
} as const;
/** Names of namespaces and Secrets (kubernetes: DNS subdomain). */
const objectName = /^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/u;

/** `stemcell pre-pull`: prints what kubectl has to apply for every node to pull a stemcell before a director waits for it. */
export async function prePull(
  words: readonly string[],
  { terminal }: Pick<CommandContext, 'terminal'>,
): Promise<number> {
  const { values, positionals } = parseWords(words);
  const [image, ...others] = positionals;
  if (image === undefined || others.length > 0) throw wrong("'stemcell pre-pull' wants one image");
  if (readImageReference(image) === undefined) throw wrong(`'${image}' is no image reference`);
  const { namespace, 'image-pull-secret': imagePullSecrets = [] } = values;
  for (const name of [namespace ?? 'default', ...imagePullSecrets])
    if (!objectName.test(name)) throw wrong(`'${name}' is no name of a namespace or Secret`);
  terminal.out(stringify(prePullManifest({ image, namespace, imagePullSecrets }), { lineWidth: 0 }));
  return 0;
}

function parseWords(words: readonly string[]) {
  try {
    return parseArgs({ args: [...words], options, allowPositionals: true, strict: true });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw wrong(firstSentence(error.message));
  }
}

const wrong = (problem: string): ProductError =>
  new ProductError('INVALID_ARGUMENT', `${problem}. Usage: stemcell ${prePullUsage}`);
