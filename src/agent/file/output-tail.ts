import { openPlainFile } from './directory-handle.ts';

const limit = 10 * 1024;

/** Returns the end of a program's output file, at most 10 KiB, and if the file was longer. */
export async function outputTail(
  path: string,
): Promise<{ readonly text: string; readonly isTruncated: boolean }> {
  await using file = await openPlainFile(path, 'read');
  const { size } = await file.stat();
  const start = Math.max(0, size - limit);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(limit), 0, limit, start);
  const text = buffer.toString('utf8', 0, bytesRead);
  return start === 0
    ? { text, isTruncated: false }
    : { text: text.slice(text.indexOf('\n') + 1), isTruncated: true };
}
