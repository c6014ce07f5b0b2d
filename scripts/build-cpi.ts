import { execFile } from 'node:child_process';
import { chmod, mkdir, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';

const run = promisify(execFile);
const root = dirname(dirname(fileURLToPath(import.meta.url)));
const entry = join(root, 'src', 'cpi', 'main.ts');
const bun = join(
  root,
  'node_modules',
  '@oven',
  `bun-linux-${process.arch === 'arm64' ? 'aarch64' : 'x64'}`,
  'bin',
  'bun',
);

export interface CpiArtefacts {
  /** Runs on any Node from 20 on. */
  readonly bundle: string;
  /** Runs on the machine's own platform, with no runtime beside it. */
  readonly executable: string;
}

/** Builds both artefacts of the CPI from the same source (docs/decisions/0002). */
export async function buildCpi({ outDirectory }: { readonly outDirectory: string }): Promise<CpiArtefacts> {
  await mkdir(outDirectory, { recursive: true });
  const [bundle, executable] = await Promise.all([
    buildBundle(join(outDirectory, 'cpi.cjs')),
    buildExecutable(join(outDirectory, `cpi-linux-${process.arch}`)),
  ]);
  return { bundle, executable };
}

async function buildBundle(outfile: string): Promise<string> {
  await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    minify: true,
    logLevel: 'warning',
  });
  return outfile;
}

/** Autoloading is off: a .env or bunfig.toml in the working directory must not run code in the CPI. */
async function buildExecutable(outfile: string): Promise<string> {
  const partial = `${outfile}.partial`;
  await run(
    bun,
    [
      'build',
      '--compile',
      '--minify',
      '--bytecode',
      '--format=cjs',
      '--no-compile-autoload-dotenv',
      '--no-compile-autoload-bunfig',
      `--outfile=${partial}`,
      entry,
    ],
    { cwd: dirname(outfile) },
  );
  await chmod(partial, 0o755);
  await rename(partial, outfile);
  return outfile;
}

if (import.meta.main) await buildCpi({ outDirectory: process.argv[2] ?? join(root, 'dist', 'cpi') });
