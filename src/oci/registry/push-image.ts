import type { Descriptor, ImageSource } from '../image-source.ts';
import type { Pushed } from './blobs/push-blob.ts';
import { pushBlob } from './blobs/push-blob.ts';
import { putManifest } from './manifests/manifests.ts';
import type { RegistryClient } from './registry-client.ts';

/** What is read of an image: an ImageSource, or one whose chunks are good until the next one is asked for. */
export type PushedImage = Omit<ImageSource, 'open'> & {
  open(blob: Descriptor): AsyncIterable<Uint8Array>;
};

export interface PushImageOptions {
  /** Default: the image is published under its digest alone. */
  readonly tag?: string;
  /** Repositories of the same registry that may have layers already. */
  readonly mountFrom?: readonly string[];
  /** Default 8 MiB. */
  readonly pieceSize?: number;
  /** Told after each blob. */
  readonly onBlob?: (blob: Descriptor, how: Pushed) => void;
}

const defaultPieceSize = 8 * 1024 * 1024;

/**
 * Publishes an image, its manifest last: killed at any point nothing is half published, and the same call again goes on
 * with the blobs that are missing. Resolves with the manifest's digest.
 */
export async function pushImage(
  client: RegistryClient,
  image: PushedImage,
  options: PushImageOptions = {},
): Promise<string> {
  const { mountFrom = [], pieceSize = defaultPieceSize } = options;
  // one layer may be in an image twice
  const blobs = new Map([...image.layers, image.config].map((blob) => [blob.digest, blob]));
  for (const descriptor of blobs.values()) {
    const source = { descriptor, open: () => image.open(descriptor) };
    const how = await pushBlob(client, source, { mountFrom, pieceSize });
    options.onBlob?.(descriptor, how);
  }
  return putManifest(client, {
    bytes: image.manifest,
    mediaType: image.descriptor.mediaType,
    reference: options.tag ?? image.descriptor.digest,
  });
}
