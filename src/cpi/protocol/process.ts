import { ProductError } from '../../errors/product-error.ts';

interface BunFile {
  text(): Promise<string>;
  stream(): AsyncIterable<Uint8Array>;
}

/** The part of Bun's file API that the CPI uses (bun.com/docs/api/file-io). */
interface BunFiles {
  readonly stdin: BunFile;
  readonly stdout: BunFile;
  readonly stderr: BunFile;
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
    writeOutput: (text) => writeUnlessClosed(bun, bun.stdout, text),
    writeError: (text) => writeUnlessClosed(bun, bun.stderr, text),
  };
}

async function writeUnlessClosed(bun: BunFiles, file: BunFile, text: string): Promise<void> {
  try {
    await bun.write(file, text);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EPIPE')) throw error;
  }
}

export async function readInput(stdin: BunFile): Promise<string> {
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
  /** Writes the text to stderr, in the same way. */
  writeError(text: string): Promise<void>;
}

/** The maximum length of a request in bytes: a create_vm with all certificates of a VM has some 100 KB. */
export const maxInputBytes = 16 * 1024 * 1024;

export function inputTooLargeError(): ProductError {
  return new ProductError(
    'INVALID_REQUEST',
    `stdin has more than ${maxInputBytes} bytes, which is too long for a request; check what the caller sends`,
  );
}
