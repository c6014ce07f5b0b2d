import type { CpiProcess } from './cpi-process.ts';

interface BunFile {
  text(): Promise<string>;
}

/** The part of Bun's file API that we use (bun.com/docs/api/file-io). */
interface BunFiles {
  readonly stdin: BunFile;
  readonly stdout: BunFile;
  file(path: string): BunFile;
  write(file: BunFile, text: string): Promise<number>;
}

/** With Bun's own calls: loading node:fs costs each call of the executable a millisecond (`npm run bench:cpi`). */
export function bunProcess(bun: BunFiles): CpiProcess {
  return {
    readInput: () => bun.stdin.text(),
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

/** Bun's API, where this process is Bun. */
export function bunFiles(): BunFiles | undefined {
  return (globalThis as { readonly Bun?: BunFiles }).Bun;
}
