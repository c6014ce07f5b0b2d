import type { Descriptor } from '../../image-source.ts';

/** A blob that can be read from its start as often as an upload has to begin again. */
export interface BlobSource {
  readonly descriptor: Descriptor;
  /** Verified: ends with an error where the bytes are not the descriptor's (blob/verify-blob.ts). */
  open(): AsyncIterable<Uint8Array>;
}

/** A piece of a blob. Its bytes are good until the next piece is asked for. */
export interface Chunk {
  readonly start: number;
  readonly bytes: Uint8Array;
}

/**
 * Cuts a blob into pieces of `size` bytes, in one buffer that is used again and again. The last piece is handed out only
 * when the source has ended without an error, so that nobody can complete an upload of damaged bytes.
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
