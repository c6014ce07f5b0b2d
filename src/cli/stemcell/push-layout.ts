import { readOperatorFile } from '../../bosh/archive/read-at-most.ts';
import { ProductError } from '../../errors/product-error.ts';
import { systemClock } from '../../platform/clock.ts';
import { readFileBlob } from '../../oci/blob/read-file-blob.ts';
import { verifyBlob } from '../../oci/blob/verify-blob.ts';
import type { Descriptor } from '../../oci/image-source.ts';
import { layoutPaths } from '../../oci/layout/layout-paths.ts';
import { layoutError, openLayout } from '../../oci/layout/open-layout.ts';
import { findCredentials } from '../../oci/registry/access/auth-files.ts';
import { openRegistry } from '../../oci/registry/open-registry.ts';
import { type PushedImage, pushImage } from '../../oci/registry/push-image.ts';
import type { CommandContext } from '../command.ts';
import { interruptible } from './interruptible.ts';
import type { PushTarget } from './push-arguments.ts';

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
    next: "the same 'stemcell push' goes on from there",
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
    return await pushImage(client, image, {
      tag,
      mountFrom,
      onBlob: ({ digest, size }, how) => terminal.error(`${digest} (${size} bytes): ${how}`),
    });
  } finally {
    client.close();
  }
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
    throw new ProductError('INVALID_ARGUMENT', `'${path}' holds no certificate in PEM`);
  return text;
}
