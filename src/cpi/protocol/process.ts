import { ProductError } from '../../errors/product-error.ts';
import { readSync, writeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

interface BunFile {
  text(): Promise<string>;
  stream(): AsyncIterable<Uint8Array>;
}

/** The part of Bun's file API that the CPI uses (bun.com/docs/api/file-io). */
interface BunFiles {
  readonly stdin: BunFile;
  readonly stdout: BunFile;
  file(path: string): BunFile;
  write(file: BunFile, text: string): Promise<number>;
}

/**
 * Uses Bun's own calls: loading node:fs costs each call of the executable a millisecond (`npm run
 * bench:cpi`).
 */
export function bunProcess(bun: BunFiles): ProcessIo {
  return {
    readInput: () => readInput(bun.stdin),
    readFile: (path) => bun.file(path).text(),
    writeOutput: async (text) => {
      try {
        await bun.write(bun.stdout, text);
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === 'EPIPE')) throw error;
      }
    },
  };
}

async function readInput(stdin: BunFile): Promise<string> {
  const decoder = new TextDecoder();
  let [text, length] = ['', 0];
  for await (const chunk of stdin.stream()) {
    length += chunk.length;
    if (length > maxInputBytes) throw inputTooLargeError();
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** Returns Bun's API if this process runs in Bun. */
export function bunFiles(): BunFiles | undefined {
  return (globalThis as { readonly Bun?: BunFiles }).Bun;
}

/** The functions of the process that the CPI needs. */
export interface ProcessIo {
  /** Reads all of stdin; rejects with INVALID_REQUEST if it has more than `maxInputBytes`. */
  readInput(): Promise<string>;
  readFile(path: string): Promise<string>;
  /**
   * Writes the whole text to stdout, however small the pipe's buffer. A reader that has closed the pipe is
   * not an error.
   */
  writeOutput(text: string): Promise<void>;
}

/** The maximum length of a request in bytes: a create_vm with all certificates of a VM has some 100 KB. */
export const maxInputBytes = 16 * 1024 * 1024;

export function inputTooLargeError(): ProductError {
  return new ProductError(
    'INVALID_REQUEST',
    `stdin holds more than ${maxInputBytes} bytes, and no request does; look at what the caller sends`,
  );
}

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
};
