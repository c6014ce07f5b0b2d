import type { Readable } from 'node:stream';

/**
 * A blob as manifests describe it (OCI image-spec, descriptor.md). `size` in bytes; `digest` is `sha256:` and
 * 64 hex digits.
 */
export interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

/**
 * Port: one container image that can be read blob by blob, never as a whole. Adapters: a folder in OCI
 * layout. `open` throws if the blob is missing; the reader verifies digest and size.
 */
export interface ImageSource {
  readonly manifest: Buffer;
  readonly descriptor: Descriptor;
  readonly config: Descriptor;
  readonly layers: readonly Descriptor[];
  open(blob: Descriptor): Readable;
}

/**
 * Media types of OCI images (image-spec, media-types.md) and of Docker images, which registries and layouts
 * also contain.
 */
export const mediaTypes = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar',
  gzipLayer: 'application/vnd.oci.image.layer.v1.tar+gzip',
  zstdLayer: 'application/vnd.oci.image.layer.v1.tar+zstd',
  dockerIndex: 'application/vnd.docker.distribution.manifest.list.v2+json',
  dockerManifest: 'application/vnd.docker.distribution.manifest.v2+json',
} as const;
