import { readSync, writeSync } from 'node:fs';
import { type ProcessIo, maxInputBytes, inputTooLargeError } from './process.ts';
import { readFile } from 'node:fs/promises';

/**
 * Reads a file descriptor to its end; throws `tooLong` beyond the limit. It is synchronous, because the
 * process has nothing else to do then.
 */
export function readDescriptor(descriptor: number, limit: number, tooLong: () => Error): string {
  const chunks: Buffer[] = [];
  let total = 0;
  for (;;) {
    const chunk = Buffer.allocUnsafe(65_536);
    const length = readSome(descriptor, chunk);
    if (length === 0) return Buffer.concat(chunks).toString('utf8');
    if (length === undefined) continue;
    total += length;
    if (total > limit) throw tooLong();
    chunks.push(chunk.subarray(0, length));
  }
}

/**
 * Writes the whole text, however small the pipe's buffer: a plain write before the end of the process is cut
 * at 64 KiB. A reader that has closed the pipe is not an error.
 */
export function writeDescriptor(descriptor: number, text: string): void {
  let rest = Buffer.from(text, 'utf8');
  while (rest.length > 0) {
    const written = writeSome(descriptor, rest);
    if (written === 'closed') return;
    rest = rest.subarray(written);
  }
}

/**
 * Reads one chunk. Undefined: no data yet, which only happens if another process made the descriptor
 * non-blocking.
 */
function readSome(descriptor: number, chunk: Buffer): number | undefined {
  try {
    return readSync(descriptor, chunk);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EOF') return 0;
    if (code !== 'EAGAIN') throw error;
    pause();
    return undefined;
  }
}

function writeSome(descriptor: number, rest: Buffer): number | 'closed' {
  try {
    return writeSync(descriptor, rest);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'EPIPE') return 'closed';
    if (code !== 'EAGAIN') throw error;
    pause();
    return 0;
  }
}

function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

export const nodeProcess: ProcessIo = {
  readInput: async () => readDescriptor(0, maxInputBytes, inputTooLargeError),
  readFile: async (path) => readFile(path, 'utf8'),
  writeOutput: async (text) => writeDescriptor(1, text),
  writeError: async (text) => writeDescriptor(2, text),
};
