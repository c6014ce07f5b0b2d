import { spawn } from 'node:child_process';
import { chmod, mkdtemp, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * Compiles a program into one Bun executable for Linux on x86-64 with glibc, and replaces `outFile`
 * atomically. Returns undefined if Bun cannot run here to build it. The two autoload options are off;
 * otherwise a compiled program reads .env and runs bunfig.toml's preloads from the working directory.
 */
export async function buildExecutable(entry: string, outFile: string): Promise<string | undefined> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined;
  const bun = join(root, 'node_modules', '@oven', 'bun-linux-x64', 'bin', 'bun');
  // beside the result, so that it can be renamed; the name of the file is part of the executable's bytes
  const scratch = await mkdtemp(join(dirname(outFile), '.build-'));
  try {
    const unfinished = join(scratch, basename(outFile));
    await run(
      bun,
      [
        // split: a run loads only the bytecode that it needs
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

function run(command: string, args: readonly string[], directory: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] });
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
