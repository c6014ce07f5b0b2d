import { type Descriptor, type ImageSource, mediaTypes } from '../image-source.ts';
import type { BlobWriter } from './write-blob.ts';

export interface ImageParts {
  /** Content of the image's config (image-spec, config.md). The order of its keys is kept. */
  readonly config: Readonly<Record<string, unknown>>;
  /** The bottom layer comes first. The BlobWriter has written each of them. */
  readonly layers: readonly Descriptor[];
}

/**
 * Writes config and manifest of an image. Returns the manifest's descriptor; its digest identifies the image.
 */
export async function addImage(blobs: BlobWriter, { config, layers }: ImageParts): Promise<Descriptor> {
  const manifest = {
    schemaVersion: 2,
    mediaType: mediaTypes.manifest,
    config: await blobs.add(mediaTypes.config, [json(config)]),
    layers,
  };
  return blobs.add(mediaTypes.manifest, [json(manifest)]);
}

/**
 * Copies config and manifest of an image byte for byte, so that it stays the same image. Its layers are not
 * copied.
 */
export async function copyImage(blobs: BlobWriter, image: ImageSource): Promise<Descriptor> {
  await blobs.add(image.config.mediaType, image.open(image.config));
  return blobs.add(image.descriptor.mediaType, [image.manifest]);
}

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
