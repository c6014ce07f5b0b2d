import { bytesBody } from '../http/registry-transport.ts';
import type { RegistryClient } from '../registry-client.ts';
import type { BlobSource } from './blob-source.ts';
import { chunksOf } from './blob-source.ts';
import { completeUpload } from './complete-upload.ts';
import type { Upload, UploadOutcome } from './upload.ts';
import { withDigest } from './upload.ts';

/**
 * Sends a blob as the body of one request, as fast as the registry reads it. A blob that fits in a chunk is
 * read before anything is sent. If a larger one is damaged, the registry may keep the unfinished upload until
 * it purges it.
 */
export async function uploadWhole(
  client: RegistryClient,
  upload: Upload,
  source: BlobSource,
  pieceSize: number,
): Promise<UploadOutcome> {
  const { digest, size } = source.descriptor;
  const answer = await client.requestOnce({
    method: 'PUT',
    path: withDigest(upload.location, digest),
    headers: { 'content-type': 'application/octet-stream' },
    body:
      size <= pieceSize
        ? bytesBody(await wholeOf(source, size))
        : { size, open: () => whenVerified(source.open()) },
    isFinished: size <= pieceSize,
    what: `upload of ${digest}`,
  });
  return completeUpload(client, answer, digest);
}

/**
 * Returns the bytes, and the last of them only after all are verified. They are copied, because the buffer is
 * reused.
 */
async function* whenVerified(source: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const { bytes } of chunksOf(source, 1 << 18)) yield Buffer.from(bytes);
}

/** Returns the whole blob; the source verifies it. An empty blob has no chunk. */
async function wholeOf(source: BlobSource, size: number): Promise<Uint8Array> {
  for await (const { bytes } of chunksOf(source.open(), Math.max(size, 1))) return bytes;
  return new Uint8Array();
}
