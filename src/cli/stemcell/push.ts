import { stat } from 'node:fs/promises';
import { resolve, join } from 'node:path';
import { readOperatorFile } from '../../bosh/archive/open-for-reading.ts';
import { ProductError } from '../../errors/product-error.ts';
import { formatImageName } from '../../oci/image-reference.ts';
import { systemClock } from '../../platform/clock.ts';
import { readFileBlob, verifyBlob } from '../../oci/blob.ts';
import type { Descriptor } from '../../oci/image-source.ts';
import { layoutPaths, layoutError, openLayout } from '../../oci/layout/open-layout.ts';
import { findCredentials } from '../../oci/registry/access/docker-credentials.ts';
import { openRegistry } from '../../oci/registry/open-registry.ts';
import { type PushedImage, pushImage } from '../../oci/registry/push-image.ts';
import { countBytes, type OnBytes } from '../../platform/live-progress.ts';
import { shellWord } from '../../platform/shell-word.ts';
import { layoutDirectory } from '../../stemcell/write-stemcell.ts';
import { readPublished, renamePublished } from '../../stemcell/rename-stemcell.ts';
import { findKind } from '../../stemcell/source/detect-source-kind.ts';
import { expandHome, invalidArguments, parseCommandLine } from '../args/parse-command-line.ts';
import type { CommandContext } from '../command.ts';
import { interruptible } from '../interruption.ts';
import { withLiveProgress } from '../output/with-progress.ts';
import { parsePushTarget, pushOptions, type PushTarget } from './push-arguments.ts';

export const pushVerbUsage = 'FOLDER HOST/REPOSITORY[:TAG]';

export const pushFlags = {
  reference: { type: 'string', value: 'NAME', help: 'Image of an OCI layout that has several' },
  ...pushOptions,
} as const;

/**
 * Runs `stemcell push`: pushes an image that was built, here or elsewhere, to a registry. If `stemcell build`
 * made a light stemcell beside it, that stemcell names the pushed image from then on.
 */
export async function pushStemcell(args: readonly string[], context: CommandContext): Promise<number> {
  const invalid = invalidArguments(`stemcell push ${pushVerbUsage}`);
  const { values, positionals } = parseCommandLine(args, pushFlags, invalid);
  const [dir, name, ...others] = positionals;
  if (dir === undefined || name === undefined || others.length > 0)
    throw invalid("'stemcell push' needs a folder and a name");
  const target = parsePushTarget(name, values);
  const directory = resolve(expandHome(dir));
  // Read this before anything is sent.
  const stemcell = await readPublished(directory);
  const imageReference = formatImageName(target.image);
  const imageDigest = await pushLayout(await findLayout(directory), target, context, values.reference);
  if (stemcell !== undefined) {
    const archive = await renamePublished(directory, { ...stemcell, imageReference, imageDigest });
    context.terminal.error(`Light stemcell '${archive}' names that image now`);
  }
  context.terminal.out(`${imageReference}@${imageDigest}\n`);
  return 0;
}

/** The file of all CAs that a machine trusts has about 250 KB. */
const certificatesLimit = 4 * 1024 * 1024;

type Context = Pick<CommandContext, 'terminal' | 'environment' | 'signal'>;

/**
 * Streams an image in OCI layout to a registry and reports the result for each blob. `reference` selects one
 * of several images by name. Returns the digest. Blobs that the registry already has are not sent. After an
 * interrupt (INTERRUPTED) nothing is published, and the same command continues.
 */
export async function pushLayout(
  layout: string,
  target: PushTarget,
  context: Context,
  reference?: string,
): Promise<string> {
  return interruptible(push(await layoutImage(layout, reference), target, context), context.signal, {
    result: 'The image was not pushed',
    next: "the same 'stemcell push' continues from there",
  });
}

async function push(
  image: PushedImage,
  target: PushTarget,
  { terminal, environment, signal }: Context,
): Promise<string> {
  const { host, repository, tag } = target.image;
  const { authFile } = target;
  const credentials = await findCredentials({ host, repository, authFile, environment, signal });
  const ca = target.caFile === undefined ? undefined : await readCertificates(target.caFile);
  const { origin, mountFrom } = target;
  const client = openRegistry({ origin, repository, credentials, ca, signal, clock: systemClock });
  try {
    return await withLiveProgress(terminal, `Pushing ${formatImageName(target.image)}`, (onBytes) => {
      const counted = onBytes === undefined ? undefined : countImageBytes(image, onBytes);
      return pushImage(client, counted?.image ?? image, {
        tag,
        mountFrom,
        onBlob: ({ digest, size }, how) => {
          counted?.finish(size);
          terminal.error(`${digest} (${size} bytes): ${how}`);
        },
      });
    });
  } finally {
    client.close();
  }
}

/** Reports the bytes that are read of an image. `finish` counts a blob of that size as done. */
function countImageBytes(
  image: PushedImage,
  onBytes: OnBytes,
): { readonly image: PushedImage; finish(size: number): void } {
  const sizes = new Map([...image.layers, image.config].map(({ digest, size }) => [digest, size]));
  const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  let finished = 0;
  const open = (blob: Descriptor): AsyncIterable<Uint8Array> =>
    countBytes((done) => onBytes(finished + done, total))(image.open(blob));
  return { image: { ...image, open }, finish: (size) => onBytes((finished += size), total) };
}

/** Reads each blob into one buffer, because streams would use more memory than everything else here. */
async function layoutImage(layout: string, reference: string | undefined): Promise<PushedImage> {
  const image = await openLayout(layout, { reference });
  const open = (blob: Descriptor): AsyncIterable<Uint8Array> => {
    const path = layoutPaths.blob(layout, blob.digest);
    return verifyBlob(readFileBlob(path, undefined, layoutError), blob, `'${path}'`);
  };
  return { ...image, open };
}

async function readCertificates(path: string): Promise<string> {
  const text = (await readOperatorFile(path, certificatesLimit))?.toString('utf8') ?? '';
  if (!text.includes('-----BEGIN CERTIFICATE-----'))
    throw new ProductError('INVALID_ARGUMENT', `'${path}' does not contain a PEM certificate`);
  return text;
}

/**
 * Returns the OCI layout directory for `directory`. This is `directory` itself, or the layout inside it if
 * `directory` is the output of `stemcell build`. Rejects with INVALID_ARGUMENT for a file; the error says
 * what the file is, or how to convert it into such a directory.
 */
export async function findLayout(directory: string): Promise<string> {
  if (await isFile(directory)) {
    await findKind(directory);
    throw new ProductError(
      'INVALID_ARGUMENT',
      `'${directory}' is a file; name a folder that 'stemcell build' made: bosh-kubernetes stemcell build --from ${shellWord(directory)} --output FOLDER`,
    );
  }
  const inside = join(directory, layoutDirectory);
  return (await isFile(join(inside, 'oci-layout'))) ? inside : directory;
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isFile();
  } catch (error) {
    if (error instanceof Error && 'code' in error && ['ENOENT', 'ENOTDIR'].includes(String(error.code)))
      return false;
    throw error;
  }
}
