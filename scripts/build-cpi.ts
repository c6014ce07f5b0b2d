import { spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const entry = join(root, 'src', 'cpi', 'main.ts');

export interface CpiArtefacts {
  /** For Node 24 or newer on any platform: one CommonJS file. */
  readonly bundle: string;
  /** For Linux on x86-64 with glibc: a Bun executable; undefined where Bun cannot be run to make it. */
  readonly executable: string | undefined;
}

/** Builds both artefacts of the CPI into `outDirectory`, as `cpi.cjs` and `cpi`. Replaces what is there atomically. */
export async function buildCpi({ outDirectory }: { readonly outDirectory: string }): Promise<CpiArtefacts> {
  await mkdir(outDirectory, { recursive: true });
  const [bundle, executable] = await Promise.all([
    buildBundle(join(outDirectory, 'cpi.cjs')),
    buildExecutable(join(outDirectory, 'cpi')),
  ]);
  return { bundle, executable };
}

async function buildBundle(outFile: string): Promise<string> {
  await build({
    entryPoints: [entry],
    outfile: outFile,
    bundle: true,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    minify: true,
    // optional natives of ws, which it does without
    external: ['bufferutil', 'utf-8-validate'],
    logLevel: 'warning',
  });
  return outFile;
}

/** Without the two autoloads a compiled program reads .env and runs bunfig.toml's preloads from the working directory. */
async function buildExecutable(outFile: string): Promise<string | undefined> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  const bun = join(root, 'node_modules', '@oven', 'bun-linux-x64', 'bin', 'bun');
  // beside the result, for the rename; the file's name goes into its bytes
  const scratch = await mkdtemp(join(dirname(outFile), '.build-'));
  try {
    const unfinished = join(scratch, 'cpi');
    await run(
      bun,
      [
        // split: a call loads the bytecode of its own verb alone
        ...['build', entry, '--compile', '--minify', '--bytecode', '--format=esm', '--splitting'],
        `--outfile=${unfinished}`,
        ...['--target=bun-linux-x64', `--compile-executable-path=${bun}`],
        ...['--no-compile-autoload-dotenv', '--no-compile-autoload-bunfig'],
      ],
      scratch,
    );
    await chmod(unfinished, 0o755);
    await rename(unfinished, outFile);
    return outFile;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

function run(command: string, words: readonly string[], directory: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, words, { cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] });
    const output: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => output.push(chunk));
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve();
      else
        reject(new Error(`bun build ended with ${code}: ${Buffer.concat(output).toString().slice(-2000)}`));
    });
  });
}

if (import.meta.main) {
  const artefacts = await buildCpi({ outDirectory: process.argv[2] ?? join(root, 'dist', 'cpi') });
  process.stdout.write(
    `${artefacts.bundle}\n${artefacts.executable ?? 'no executable: Bun is for Linux on x86-64'}\n`,
  );
}
