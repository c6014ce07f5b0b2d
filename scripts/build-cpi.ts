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
  /** For Node 24 or newer on any platform: one CommonJS file. */
  readonly bundle: string;
  /** For Linux on x86-64 with glibc: a Bun executable; undefined where Bun cannot be run to make it. */
  readonly executable: string | undefined;
}

/**
 * What the job's bin/cpi sets for the executable: a call is over before code that is compiled for it pays,
 * and what is set up for the compiler costs a call a millisecond (docs/decisions/0002).
 */
export const executableSetting = 'BUN_JSC_useJIT=0';

/**
 * Builds both artefacts of the CPI into `outDirectory`, as `cpi.cjs` and `cpi`, with LICENSE and NOTICE of
 * what is in them. Replaces what is there atomically.
 */
export async function buildCpi({ outDirectory }: { readonly outDirectory: string }): Promise<CpiArtefacts> {
  await mkdir(outDirectory, { recursive: true });
  const bundle = join(outDirectory, 'cpi.cjs');
  const [packages, executable] = await allEnded([
    // optional natives of ws, which it does without
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
