import { createHash } from 'node:crypto';
import { PassThrough } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import type { Transform } from 'node:stream';
import { ProductError } from '../../errors/product-error.ts';
import { imageInvalid } from '../blob/parse-descriptor.ts';
import type { Descriptor, ImageSource } from '../image-source.ts';
import type { BlobWriter } from '../layout/write-blob.ts';
import type { RootTarOptions } from '../tar/check-root-tar.ts';
import { checkRootTar } from '../tar/check-root-tar.ts';

/**
 * Copies a layer of an image byte for byte and checks the tar in it: once for what it may hold and, where the image's
 * config says one, against its digest. DIGEST_MISMATCH or ARCHIVE_INVALID name the layer.
 */
export async function copyLayer(
  blobs: BlobWriter,
  image: ImageSource,
  layer: Descriptor,
  expected: { readonly diffId: string | undefined } & RootTarOptions,
): Promise<void> {
  await blobs.add(layer.mediaType, image.open(layer));
  const what = `layer ${layer.digest}`;
  const hash = createHash('sha256');
  const plain = decompressor(layer, what);
  const look = async (source: AsyncIterable<Uint8Array>): Promise<void> => {
    for await (const chunk of checkRootTar(source, what, expected)) hash.update(chunk);
  };
  try {
    await pipeline(image.open(layer), plain, look);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (!/^(Z_|ZSTD_)/.test(code)) throw error;
    throw new ProductError('ARCHIVE_INVALID', `${what} is damaged or cut off: ${String(error)}`, {
      cause: error,
    });
  }
  const diffId = `sha256:${hash.digest('hex')}`;
  if (expected.diffId !== undefined && expected.diffId !== diffId)
    throw new ProductError(
      'DIGEST_MISMATCH',
      `${what} unpacks to ${diffId} and not to ${expected.diffId}, as the image's config says`,
    );
}

function decompressor({ mediaType }: Descriptor, what: string): Transform {
  if (/[+.]gzip$/.test(mediaType)) return createGunzip({ chunkSize: 1 << 16 });
  if (mediaType.endsWith('+zstd')) return createZstdDecompress({ chunkSize: 1 << 16 });
  if (mediaType.endsWith('.tar')) return new PassThrough();
  throw imageInvalid(`${what} is of a type that is not known: ${mediaType}`);
}
