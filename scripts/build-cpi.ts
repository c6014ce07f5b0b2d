import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { allEnded } from './all-ended.ts';
import { buildExecutable } from './build-executable.ts';
import { bundleForNode } from './bundle-for-node.ts';
import { runtimes, writeNotices } from './write-notices.ts';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const entry = join(root, 'src', 'cpi', 'main.ts');

export interface CpiArtefacts {
  /** One CommonJS file for Node 24 or newer on any platform. */
  readonly bundle: string;
  /** A Bun executable for Linux on x86-64 with glibc; undefined if Bun cannot run here to build it. */
  readonly executable: string | undefined;
}

/**
 * The environment that the job's bin/cpi sets for the executable. A call ends before compiled code pays off,
 * and setting up the compiler costs a call a millisecond (docs/decisions/0001).
 */
export const executableSetting = 'BUN_JSC_useJIT=0';

/**
 * Builds both artefacts of the CPI into `outDirectory`, as `cpi.cjs` and `cpi`, with LICENSE and NOTICE of
 * their content. Replaces existing files atomically.
 */
export async function buildCpi({ outDirectory }: { readonly outDirectory: string }): Promise<CpiArtefacts> {
  await mkdir(outDirectory, { recursive: true });
  const bundle = join(outDirectory, 'cpi.cjs');
  const [packages, executable] = await allEnded([
    // optional native modules that ws does not need
    bundleForNode(entry, bundle, { minify: true, external: ['bufferutil', 'utf-8-validate'] }),
    buildExecutable(entry, join(outDirectory, 'cpi')),
  ]);
  await writeNotices(outDirectory, [...packages, ...(executable === undefined ? [] : [runtimes.bun])]);
  return { bundle, executable };
}

if (import.meta.main) {
  const artefacts = await buildCpi({ outDirectory: process.argv[2] ?? join(root, 'dist', 'cpi') });
  process.stdout.write(
    `${artefacts.bundle}\n${artefacts.executable ?? 'no executable: Bun is for Linux on x86-64'}\n`,
  );
}
