import { resolve } from 'node:path';
import type { ProductError } from '../../errors/product-error.ts';
import { parseImageName } from '../../oci/image-reference.ts';
import { openLayout } from '../../oci/layout/open-layout.ts';
import { layoutReference } from '../../oci/layout/layout-reference.ts';
import type { Destination } from '../../stemcell/load/destination.ts';
import { pinnedReference } from '../../stemcell/load/image-archive.ts';
import { loadStemcell } from '../../stemcell/load/load-stemcell.ts';
import { expandHome, invalidArguments, parseCommandLine } from '../args/parse-command-line.ts';
import type { CommandContext } from '../command.ts';
import { interruptible } from '../interruption.ts';
import { withProgress } from '../output/with-progress.ts';
import { findLayout } from './push.ts';

export const loadUsage = 'FOLDER';

const destinations = ['containerd', 'kind', 'minikube'] as const;

export const loadFlags = {
  to: { type: 'string', values: destinations, default: 'containerd', help: 'What runs the node' },
  address: { type: 'string', value: 'SOCKET', help: 'Socket of containerd' },
  cluster: { type: 'string', value: 'NAME', help: 'Name of the cluster of kind or minikube' },
  reference: { type: 'string', value: 'NAME', help: 'Image of an OCI layout that has several' },
} as const;

/** Runs `stemcell load`: loads the image of a built stemcell into a node, so that it need not be pulled. */
export async function load(
  args: readonly string[],
  { terminal, environment, signal }: CommandContext,
): Promise<number> {
  const { directory, reference, destination } = parseLoadArguments(args);
  const layout = await findLayout(directory);
  const name = parseImageName(await layoutReference(layout, reference));
  const image = await openLayout(layout, { reference });
  const work = withProgress(terminal, `Loading the image by ${destination.kind}`, () =>
    loadStemcell(image, name, destination, { environment, signal }),
  );
  await interruptible(work, signal, {
    result: 'The image was not loaded',
    next: 'the same command starts again',
  });
  terminal.out(`${pinnedReference(name, image.descriptor)}\n`);
  return 0;
}

interface LoadArguments {
  readonly directory: string;
  /** The name of an image in the layout. Undefined: its only image. */
  readonly reference: string | undefined;
  readonly destination: Destination;
}

/** Parses the arguments of `stemcell load`. Throws INVALID_ARGUMENT with the problem and the usage. */
export function parseLoadArguments(args: readonly string[]): LoadArguments {
  const { values, positionals } = parseCommandLine(
    args,
    loadFlags,
    invalidArguments(`stemcell load ${loadUsage}`),
  );
  const [directory, extra] = positionals;
  if (directory === undefined || extra !== undefined)
    throw invalidArgument('needs one folder that stemcell build made');
  const { reference } = values;
  return { directory: resolve(expandHome(directory)), reference, destination: destinationOf(values) };
}

function destinationOf({
  to,
  address,
  cluster,
}: ReturnType<typeof parseCommandLine<typeof loadFlags>>['values']): Destination {
  if (address !== undefined && to !== 'containerd')
    throw invalidArgument('takes --address only with --to containerd');
  if (cluster !== undefined && to === 'containerd')
    throw invalidArgument('takes --cluster only with --to kind or minikube');
  if (cluster !== undefined && !/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(cluster))
    throw invalidArgument(`cannot use '${cluster}' as the name of a cluster`);
  switch (to) {
    case 'containerd':
      return { kind: 'containerd', address: address && expandHome(address) };
    case 'kind':
      return { kind: 'kind', cluster: cluster ?? 'kind' };
    case 'minikube':
      return { kind: 'minikube', profile: cluster ?? 'minikube' };
    default:
      throw invalidArgument(`needs --to, one of ${destinations.join(', ')}`);
  }
}

const invalidArgument = (problem: string): ProductError =>
  invalidArguments(`stemcell load ${loadUsage}`)(`'stemcell load' ${problem}`);
