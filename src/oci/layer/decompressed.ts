import { pipeline } from 'node:stream';
import type { Readable } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { ZstdFrames } from './zstd-frames.ts';

const chunkSize = 1 << 16;

/**
 * What a file unpacks to. A failure of the file is one of the stream, and a stream that is destroyed closes the file. `what`: for
 * error messages.
 */
export function decompressed(file: Readable, compression: 'none' | 'gzip' | 'zstd', what: string): Readable {
  if (compression === 'none') return file;
  // what goes wrong is told by the stream that the caller reads
  const done = (): void => undefined;
  if (compression === 'gzip') return pipeline(file, createGunzip({ chunkSize }), done);
  return pipeline(
    file,
    (chunks: AsyncIterable<Uint8Array>) => wholeFrames(chunks, what),
    createZstdDecompress({ chunkSize }),
    done,
  );
}

async function* wholeFrames(chunks: AsyncIterable<Uint8Array>, what: string): AsyncGenerator<Uint8Array> {
  const frames = new ZstdFrames(what);
  for await (const chunk of chunks) yield* frames.split(chunk);
  frames.end();
}

/** Whether an error is one of the decompressors: the bytes are wrong. */
export function isDecompressionError(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && /^(Z_|ZSTD_)/u.test(String(error.code));
}
