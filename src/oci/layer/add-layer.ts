import { createHash } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { compressionBytes, compressionOf, unreadCompression } from '../../bosh/archive/compression.ts';
import { type Descriptor, mediaTypes } from '../image-source.ts';
import type { BlobWriter } from '../layout/write-blob.ts';
import { type RootTarOptions, checkRootTar } from '../tar/check-root-tar.ts';
import { checkLayer } from './check-layer.ts';

export interface Layer {
  readonly descriptor: Descriptor;
  /** Digest of the plain tar, which the image's config lists (image-spec, config.md). */
  readonly diffId: string;
}

export interface LayerSource {
  readonly bytes: AsyncIterable<Uint8Array>;
  /** For error messages. */
  readonly label: string;
  readonly onEntry?: RootTarOptions['onEntry'];
}

/**
 * Compresses a tar into a layer while it is read, and checks it at the same time. The same tar gives the same
 * bytes: the gzip header has no time.
 */
export async function addTarLayer(blobs: BlobWriter, { bytes, label, onEntry }: LayerSource): Promise<Layer> {
  const hash = createHash('sha256');
  const packed = createGzip({ level: 4, chunkSize: 1 << 16 });
  async function* hashed(): AsyncGenerator<Uint8Array> {
    for await (const chunk of checkRootTar(bytes, label, { onEntry })) {
      hash.update(chunk);
      yield chunk;
    }
  }
  const added = blobs.add(mediaTypes.gzipLayer, packed);
  // If writing the blob fails, nothing reads `packed` any more, and packing would wait forever.
  added.catch((error: unknown) => packed.destroy(error instanceof Error ? error : undefined));
  // Waits for both, so that nothing is being written any more when the caller receives an error.
  const [adding, packing] = await Promise.allSettled([added, pipeline(hashed, packed)]);
  if (packing.status === 'rejected' && !(adding.status === 'rejected' && isClosedStream(packing.reason)))
    throw packing.reason;
  if (adding.status === 'rejected') throw adding.reason;
  return { descriptor: adding.value, diffId: `sha256:${hash.digest('hex')}` };
}

/** True for the error of a stream whose other end was closed; the other end has the reason. */
const isClosedStream = (reason: unknown): boolean =>
  reason instanceof Error &&
  'code' in reason &&
  (reason.code === 'ABORT_ERR' || reason.code === 'ERR_STREAM_PREMATURE_CLOSE');

/**
 * Adds a tar in gzip or zstd as a layer, byte for byte, and checks it while it is read (check-layer.ts).
 * ARCHIVE_INVALID for a tar in xz or bzip2 says how to repack the file `path`.
 */
export async function addPackedLayer(
  blobs: BlobWriter,
  { path, ...source }: LayerSource & { readonly path: string },
): Promise<Layer> {
  const iterator = source.bytes[Symbol.asyncIterator]();
  try {
    const start = await startOf(iterator);
    const compressionFound = compressionOf(start);
    if (compressionFound === 'xz' || compressionFound === 'bzip2')
      throw unreadCompression(compressionFound, source.label, path);
    // If it is neither gzip nor zstd, the decompressor reports that.
    const compression = compressionFound === 'zstd' ? 'zstd' : 'gzip';
    const type = compression === 'zstd' ? mediaTypes.zstdLayer : mediaTypes.gzipLayer;
    async function* bytes(): AsyncGenerator<Uint8Array> {
      yield start;
      yield* { [Symbol.asyncIterator]: () => iterator };
    }
    const { result: descriptor, diffId } = await checkLayer(
      { ...source, bytes: bytes(), compression },
      (checked) => blobs.add(type, checked),
    );
    return { descriptor, diffId };
  } finally {
    await iterator.return?.();
  }
}

/** Returns the first chunks, copied into a new buffer: enough bytes to detect the compression. */
async function startOf(iterator: AsyncIterator<Uint8Array>): Promise<Buffer> {
  let start = Buffer.alloc(0);
  while (start.length < compressionBytes) {
    const next = await iterator.next();
    if (next.done === true) return start;
    start = Buffer.concat([start, next.value]);
  }
  return start;
}
