import type { ProcessIo } from './cpi-process.ts';
import { inputTooLargeError, maxInputBytes } from './cpi-process.ts';

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
