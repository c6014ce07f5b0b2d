import { createHash } from 'node:crypto';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import type { Gunzip, ZstdDecompress } from 'node:zlib';
import { ProductError } from '../../errors/product-error.ts';
import type { RootTarOptions } from '../tar/check-root-tar.ts';
import { checkRootTar } from '../tar/check-root-tar.ts';
import { isDecompressionError } from './decompressed.ts';
import { ZstdFrames } from './zstd-frames.ts';

export interface CompressedLayer extends RootTarOptions {
  /** A chunk may be overwritten when the next one is requested (../blob.ts). */
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly compression: 'gzip' | 'zstd';
  /** For error messages. */
  readonly label: string;
}

/**
 * Passes a layer's bytes to `take` unchanged, and checks the tar in them at the same time. Returns the result
 * and the digest of the tar. ARCHIVE_INVALID, naming `label`, if checkRootTar rejects the tar, or if it is
 * damaged, truncated or has bytes after its end: Node.js ignores zeros there, containerd rejects them.
 * Several gzip members or zstd frames are one layer.
 */
export async function checkLayer<Result>(
  { bytes, compression, label, ...options }: CompressedLayer,
  take: (bytes: AsyncGenerator<Uint8Array>) => Promise<Result>,
): Promise<{ readonly result: Result; readonly diffId: string }> {
  const unpacker = compression === 'gzip' ? gzipUnpacker(label) : zstdUnpacker(label);
  const diffId = digestOfTar(unpacker.stream, label, options);
  // It is awaited below, but may fail before.
  diffId.catch(() => undefined);
  try {
    const result = await take(passThrough(bytes, unpacker, diffId));
    return { result, diffId: await diffId };
  } finally {
    unpacker.stream.destroy();
  }
}

interface Unpacker {
  readonly stream: Gunzip | ZstdDecompress;
  /**
   * Splits the chunk into parts. The stream consumes each of them completely, unless the layer has ended in
   * it.
   */
  readonly split: (chunk: Uint8Array) => Iterable<Uint8Array>;
  readonly end: () => void;
  readonly behind: () => ProductError;
}

const chunkSize = 1 << 16;

function gzipUnpacker(label: string): Unpacker {
  const message = `${label}: there is data after the end of the gzip stream, which containerd rejects; compress the tar again`;
  return {
    stream: createGunzip({ chunkSize }),
    split: (chunk) => [chunk],
    end: () => undefined,
    behind: () => new ProductError('ARCHIVE_INVALID', message),
  };
}

function zstdUnpacker(label: string): Unpacker {
  const frames = new ZstdFrames(label);
  return {
    stream: createZstdDecompress({ chunkSize }),
    split: (chunk) => frames.split(chunk),
    end: () => frames.end(),
    behind: () => frames.trailingBytes(),
  };
}

/**
 * Passes the bytes on and also to the unpacker, one chunk at a time. Ends with the error of the unpacker's
 * reader.
 */
async function* passThrough(
  bytes: AsyncIterable<Uint8Array>,
  { stream, split, end, behind }: Unpacker,
  read: Promise<unknown>,
): AsyncGenerator<Uint8Array> {
  let given = 0;
  for await (const chunk of bytes) {
    for (const part of split(chunk)) {
      given += part.length;
      await Promise.race([bytesRead(stream, part), read]);
      if (stream.bytesWritten === given) continue;
      // The unpacker has failed, then its reader has the error, or it came to the end of the layer.
      await read;
      throw behind();
    }
    yield chunk;
  }
  end();
  stream.end();
  await read;
}

/** Never rejects: the reader reports the error. */
function bytesRead(stream: Unpacker['stream'], part: Uint8Array): Promise<void> {
  return new Promise((resolve) => void stream.write(part, () => resolve()));
}

async function digestOfTar(
  plain: AsyncIterable<Uint8Array>,
  label: string,
  options: RootTarOptions,
): Promise<string> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of checkRootTar(plain, label, options)) hash.update(chunk);
  } catch (error) {
    if (!isDecompressionError(error)) throw error;
    throw new ProductError('ARCHIVE_INVALID', `${label} is damaged or truncated: ${error.message}`, {
      cause: error,
    });
  }
  return `sha256:${hash.digest('hex')}`;
}
