import { pipeline } from 'node:stream';
import type { Readable } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { ZstdFrames } from './zstd-frames.ts';

const chunkSize = 1 << 16;

/**
 * Returns the decompressed content of a file. An error of the file becomes an error of the stream, and
 * destroying the stream closes the file. `label` names the file in error messages.
 */
export function decompressed(file: Readable, compression: 'none' | 'gzip' | 'zstd', label: string): Readable {
  if (compression === 'none') return file;
  // The stream that the caller reads reports the error.
  const done = (): void => undefined;
  if (compression === 'gzip') return pipeline(file, createGunzip({ chunkSize }), done);
  return pipeline(
    file,
    (chunks: AsyncIterable<Uint8Array>) => wholeFrames(chunks, label),
    createZstdDecompress({ chunkSize }),
    done,
  );
}

async function* wholeFrames(chunks: AsyncIterable<Uint8Array>, label: string): AsyncGenerator<Uint8Array> {
  const frames = new ZstdFrames(label);
  for await (const chunk of chunks) yield* frames.split(chunk);
  frames.end();
}

/** Returns true for an error of a decompressor: the bytes are invalid. */
export function isDecompressionError(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && /^(Z_|ZSTD_)/u.test(String(error.code));
}
