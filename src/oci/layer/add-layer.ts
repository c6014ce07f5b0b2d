import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import type { Gunzip } from 'node:zlib';
import { createGunzip, createGzip } from 'node:zlib';
import { ProductError } from '../../errors/product-error.ts';
import type { Descriptor } from '../image-source.ts';
import type { BlobWriter } from '../layout/write-blob.ts';
import { mediaTypes } from '../media-types.ts';
import type { RootTarOptions } from '../tar/check-root-tar.ts';
import { checkRootTar } from '../tar/check-root-tar.ts';

export interface Layer {
  readonly descriptor: Descriptor;
  /** Digest of the plain tar, which the image's config lists (image-spec, config.md). */
  readonly diffId: string;
}

export interface LayerSource {
  readonly bytes: AsyncIterable<Uint8Array>;
  /** For error messages. */
  readonly what: string;
  readonly onPath?: RootTarOptions['onPath'];
}

/** Compresses a tar into a layer as it comes, and checks it on the way. Same tar, same bytes: the header has no time. */
export async function addTarLayer(blobs: BlobWriter, { bytes, what, onPath }: LayerSource): Promise<Layer> {
  const hash = createHash('sha256');
  const packed = createGzip({ level: 4, chunkSize: 1 << 16 });
  async function* hashed(): AsyncGenerator<Uint8Array> {
    for await (const chunk of checkRootTar(bytes, what, { onPath })) {
      hash.update(chunk);
      yield chunk;
    }
  }
  const added = blobs.add(mediaTypes.gzipLayer, packed);
  // who does not write it does not read on either, and packing would wait for ever
  added.catch((error: unknown) => packed.destroy(error instanceof Error ? error : undefined));
  // both to their end: when the caller hears of a failure, nothing is being written any more
  const [adding, packing] = await Promise.allSettled([added, pipeline(hashed, packed)]);
  if (packing.status === 'rejected' && !(adding.status === 'rejected' && isClosedStream(packing.reason)))
    throw packing.reason;
  if (adding.status === 'rejected') throw adding.reason;
  return { descriptor: adding.value, diffId: `sha256:${hash.digest('hex')}` };
}

/** What a stream says that was closed at its other end: there the reason is known. */
const isClosedStream = (reason: unknown): boolean =>
  reason instanceof Error &&
  'code' in reason &&
  (reason.code === 'ABORT_ERR' || reason.code === 'ERR_STREAM_PREMATURE_CLOSE');

/** Takes a tar.gz as the layer that it is, byte for byte, and checks the tar in it on the way. */
export async function addGzipLayer(blobs: BlobWriter, { bytes, what, onPath }: LayerSource): Promise<Layer> {
  const gunzip = createGunzip({ chunkSize: 1 << 16 });
  const diffId = digestOfTar(gunzip, what, { onPath });
  // it is awaited below, but may fail before
  diffId.catch(() => undefined);
  try {
    const descriptor = await blobs.add(mediaTypes.gzipLayer, passThrough(bytes, gunzip, diffId));
    return { descriptor, diffId: await diffId };
  } finally {
    gunzip.destroy();
  }
}

/**
 * Hands the bytes to gunzip too and ends with the failure of what reads from it. A chunk has been read before the next one is
 * asked for: its buffer may be used again (blob/read-file-blob.ts).
 */
async function* passThrough(
  bytes: AsyncIterable<Uint8Array>,
  gunzip: Gunzip,
  read: Promise<unknown>,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of bytes) {
    await Promise.race([taken(gunzip, chunk), read]);
    yield chunk;
  }
  gunzip.end();
  await read;
}

/** Never rejects: what went wrong is what the reader says. */
function taken(stream: Gunzip, chunk: Uint8Array): Promise<void> {
  return new Promise((resolve) => void stream.write(chunk, () => resolve()));
}

async function digestOfTar(gunzip: Gunzip, what: string, options: RootTarOptions): Promise<string> {
  const hash = createHash('sha256');
  try {
    for await (const chunk of checkRootTar(gunzip, what, options)) hash.update(chunk);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    if (!code.startsWith('Z_')) throw error;
    throw new ProductError('ARCHIVE_INVALID', `${what} is damaged or cut off: ${(error as Error).message}`, {
      cause: error,
    });
  }
  return `sha256:${hash.digest('hex')}`;
}
