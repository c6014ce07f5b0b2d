import { createHash } from 'node:crypto';
import { ProductError } from '../../errors/product-error.ts';
import { imageInvalid } from '../blob.ts';
import type { Descriptor, ImageSource } from '../image-source.ts';
import type { BlobWriter } from '../layout/write-blob.ts';
import { type RootTarOptions, checkRootTar } from '../tar/check-root-tar.ts';
import { type CompressedLayer, checkLayer } from './check-layer.ts';

export interface ExpectedLayer extends RootTarOptions {
  /** The digest of its tar, if the image's config has it. */
  readonly diffId: string | undefined;
}

/**
 * Copies a layer of an image byte for byte and checks the tar in it: its entries and, if the image's config
 * has one, its digest. DIGEST_MISMATCH or ARCHIVE_INVALID name the layer.
 */
export async function copyLayer(
  blobs: BlobWriter,
  image: ImageSource,
  layer: Descriptor,
  { diffId: expected, ...options }: ExpectedLayer,
): Promise<void> {
  // Verify the digest of the whole layer before parsing it, so that a damaged layer is reported as damaged.
  await blobs.add(layer.mediaType, image.open(layer));
  const label = `layer ${layer.digest}`;
  const compression = compressionOf(layer, label);
  const bytes = image.open(layer);
  const diffId =
    compression === 'none'
      ? await digestOf(checkRootTar(bytes, label, options))
      : (await checkLayer({ ...options, bytes, compression, label }, drain)).diffId;
  if (expected !== undefined && expected !== diffId)
    throw new ProductError(
      'DIGEST_MISMATCH',
      `${label} unpacks to ${diffId}, but the config of the image names ${expected}`,
    );
}

function compressionOf({ mediaType }: Descriptor, label: string): CompressedLayer['compression'] | 'none' {
  if (/[+.]gzip$/.test(mediaType)) return 'gzip';
  if (mediaType.endsWith('+zstd')) return 'zstd';
  if (mediaType.endsWith('.tar')) return 'none';
  throw imageInvalid(`${label} has an unknown media type: ${mediaType}`);
}

async function digestOf(bytes: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of bytes) hash.update(chunk);
  return `sha256:${hash.digest('hex')}`;
}

async function drain(bytes: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const _ of bytes);
}
