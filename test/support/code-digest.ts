import { createHash } from 'node:crypto';
import { build } from 'esbuild';
import { checkout } from './embedded-environment.ts';

const known = new Map<string, Promise<string>>();

/**
 * Returns a digest of all code of the checkout that a program consists of, given its main file. It changes
 * whenever the program would.
 */
export function codeDigest(entry: string): Promise<string> {
  const digest = known.get(entry) ?? digestOf(entry);
  known.set(entry, digest);
  return digest;
}

async function digestOf(entry: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [entry],
    absWorkingDir: checkout,
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'error',
  });
  const hash = createHash('sha256');
  for (const { contents } of outputFiles) hash.update(contents);
  return hash.digest('hex');
}
