import type { Readable } from 'node:stream';

const longest = 64 * 1024;

/**
 * Reads a program's output to its end. The returned function returns the first 64 KiB of the output so far.
 */
export function keepHead(stream: Readable | null): () => string {
  const chunks: Buffer[] = [];
  let left = longest;
  stream?.on('data', (chunk: Buffer) => {
    if (left === 0) return;
    const kept = Buffer.from(chunk.subarray(0, left));
    left -= kept.length;
    chunks.push(kept);
  });
  return () => Buffer.concat(chunks).toString();
}
