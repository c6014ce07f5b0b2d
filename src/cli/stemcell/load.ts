import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ProductError } from '../../errors/product-error.ts';
import { parseImageName } from '../../oci/image-reference.ts';
import { openLayout } from '../../oci/layout/open-layout.ts';
import { layoutReference } from '../../oci/layout/layout-reference.ts';
import type { Destination } from '../../stemcell/load/destination.ts';
import { pinnedReference } from '../../stemcell/load/image-archive.ts';
import { loadStemcell } from '../../stemcell/load/load-stemcell.ts';
import type { CommandContext } from '../command.ts';
import { firstSentence } from '../env-arguments.ts';
import { expandHome } from '../expand-home.ts';
import { interruptible } from './interruptible.ts';
import { findLayout } from './layout-in.ts';

export const loadUsage =
  'load FOLDER [--reference NAME] [--to containerd|kind|minikube] [--address SOCKET] [--cluster NAME]';

/** Runs `stemcell load`: loads the image of a built stemcell into a node, so that it need not be pulled. */
export async function load(
  words: readonly string[],
  { terminal, environment, signal }: CommandContext,
): Promise<number> {
  const { folder, reference, destination } = parseLoadArguments(words);
  const layout = await findLayout(folder);
  const name = parseImageName(await layoutReference(layout, reference));
  const image = await openLayout(layout, { reference });
  await interruptible(loadStemcell(image, name, destination, { environment, signal }), signal, {
    result: 'The image was not loaded',
    next: 'the same command begins anew',
  });
  terminal.out(`${pinnedReference(name, image.descriptor)}\n`);
  return 0;
}

interface LoadArguments {
  readonly folder: string;
  /** The name of an image in the layout. Undefined: its only image. */
  readonly reference: string | undefined;
  readonly destination: Destination;
}

/** Parses the arguments of `stemcell load`. Throws INVALID_ARGUMENT with the problem and the usage. */
export function parseLoadArguments(words: readonly string[]): LoadArguments {
  const { values, positionals } = parseWords(words);
  const [folder, extra] = positionals;
  if (folder === undefined || extra !== undefined) throw wrong('wants one folder, as stemcell build made it');
  const { reference } = values;
  return { folder: resolve(expandHome(folder)), reference, destination: destinationOf(values) };
}

function destinationOf({ to, address, cluster }: ReturnType<typeof parseWords>['values']): Destination {
  if (address !== undefined && to !== 'containerd') throw wrong(`takes --address with --to containerd alone`);
  if (cluster !== undefined && to === 'containerd')
    throw wrong('takes --cluster with --to kind or minikube alone');
  if (cluster !== undefined && !/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(cluster))
    throw wrong(`cannot use '${cluster}' as the name of a cluster`);
  switch (to) {
    case 'containerd':
      return { kind: 'containerd', address: address && expandHome(address) };
    case 'kind':
      return { kind: 'kind', cluster: cluster ?? 'kind' };
    case 'minikube':
      return { kind: 'minikube', profile: cluster ?? 'minikube' };
    default:
      throw wrong('wants --to, one of containerd, kind, minikube');
  }
}

function parseWords(words: readonly string[]) {
  const text = { type: 'string' } as const;
  try {
    return parseArgs({
      args: [...words],
      options: { to: { ...text, default: 'containerd' }, address: text, cluster: text, reference: text },
      allowPositionals: true,
      strict: true,
    });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw wrong(`cannot be read: ${firstSentence(error.message)}`);
  }
}

const wrong = (problem: string): ProductError =>
  new ProductError('INVALID_ARGUMENT', `'stemcell load' ${problem}. Usage: stemcell ${loadUsage}`);
