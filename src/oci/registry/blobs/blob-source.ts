import type { Descriptor } from '../../image-source.ts';

/** A blob that can be read from its start again, each time an upload begins again. */
export interface BlobSource {
  readonly descriptor: Descriptor;
  /**
   * The bytes are verified: the iteration ends with an error if they do not match the descriptor
   * (blob/verify-blob.ts).
   */
  open(): AsyncIterable<Uint8Array>;
}

/** A chunk of a blob. Its bytes are valid until the next chunk is requested. */
export interface Chunk {
  readonly start: number;
  readonly bytes: Uint8Array;
}

/**
 * Splits a blob into chunks of `size` bytes, in one buffer that is reused. The last chunk is returned only
 * after the source has ended without an error, so that an upload of damaged bytes cannot be completed.
 */
export async function* chunksOf(source: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Chunk> {
  const buffer = Buffer.allocUnsafe(size);
  let start = 0;
  let filled = 0;
  for await (const chunk of source) {
    let rest = chunk;
    while (rest.length > 0) {
      if (filled === size) {
        yield { start, bytes: buffer };
        start += size;
        filled = 0;
      }
      const taken = rest.subarray(0, size - filled);
      buffer.set(taken, filled);
      filled += taken.length;
      rest = rest.subarray(taken.length);
    }
  }
  if (filled > 0) yield { start, bytes: buffer.subarray(0, filled) };
}
