import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

export interface BunResult {
  readonly name: string;
  readonly error?: string;
}

const architecture = process.arch === 'arm64' ? 'aarch64' : process.arch;
const bunPackage = `@oven/bun-${process.platform}-${architecture}`;
export const bun = fileURLToPath(new URL(`../../../node_modules/${bunPackage}/bin/bun`, import.meta.url));

/** Returns why Bun cannot run here, as the reason to skip. */
export function bunIsMissing(): string | undefined {
  return existsSync(bun) ? undefined : `needs the package ${bunPackage}`;
}

/**
 * Runs a script of this folder in Bun, with the input as JSON on stdin; the script prints one JSON line per
 * case.
 */
export async function runInBun(script: string, input: unknown): Promise<BunResult[]> {
  const child = spawn(bun, [fileURLToPath(new URL(script, import.meta.url))], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(JSON.stringify(input));
  const lines = (await text(child.stdout)).trim().split('\n');
  return lines.map((line) => JSON.parse(line) as BunResult);
}
