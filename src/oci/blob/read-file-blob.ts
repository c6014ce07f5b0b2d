import { openForReading } from '../../bosh/archive/open-for-reading.ts';
import type { OpenOptions } from '../../bosh/archive/open-for-reading.ts';

/**
 * Reads the bytes of a file into one buffer, which is reused: a chunk is valid until the next one is
 * requested. Streams of the runtime allocate each chunk, and hundreds of megabytes of them accumulate before
 * they are collected. FILE_NOT_FOUND names a file that cannot be read.
 */
export async function* readFileBlob(
  path: string,
  chunkSize = 1 << 18,
  options: OpenOptions = {},
): AsyncGenerator<Uint8Array> {
  await using file = await openForReading(path, options);
  const buffer = Buffer.allocUnsafe(chunkSize);
  for (;;) {
    const { bytesRead } = await file.read(buffer, 0, chunkSize, null);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
  }
}
