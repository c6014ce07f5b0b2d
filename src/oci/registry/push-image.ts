import type { Descriptor, ImageSource } from '../image-source.ts';
import { type Pushed, pushBlob } from './push-blob.ts';
import { putManifest } from './manifests.ts';
import type { RegistryClient } from './registry-client.ts';

/**
 * The parts of an image that are read: an ImageSource, or one whose chunks are valid until the next one is
 * requested.
 */
export type PushedImage = Omit<ImageSource, 'open'> & {
  open(blob: Descriptor): AsyncIterable<Uint8Array>;
};

export interface PushImageOptions {
  /** Default: the image is published only under its digest. */
  readonly tag?: string;
  /** Repositories of the same registry that may have layers already. */
  readonly mountFrom?: readonly string[];
  /** Bytes; default 8 MiB. */
  readonly chunkBytes?: number;
  /** Called after each blob. */
  readonly onBlob?: (blob: Descriptor, how: Pushed) => void;
}

const defaultChunkBytes = 8 * 1024 * 1024;

/**
 * Publishes an image, its manifest last: after a kill at any point no incomplete image is published, and the
 * same call continues with the missing blobs. Returns the manifest's digest.
 */
export async function pushImage(
  client: RegistryClient,
  image: PushedImage,
  options: PushImageOptions = {},
): Promise<string> {
  const { mountFrom = [], chunkBytes = defaultChunkBytes } = options;
  // An image may contain the same layer twice.
  const blobs = new Map([...image.layers, image.config].map((blob) => [blob.digest, blob]));
  for (const descriptor of blobs.values()) {
    const source = { descriptor, open: () => image.open(descriptor) };
    const how = await pushBlob(client, source, { mountFrom, chunkBytes });
    options.onBlob?.(descriptor, how);
  }
  return putManifest(client, {
    bytes: image.manifest,
    mediaType: image.descriptor.mediaType,
    reference: options.tag ?? image.descriptor.digest,
  });
}
