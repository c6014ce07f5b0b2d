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
