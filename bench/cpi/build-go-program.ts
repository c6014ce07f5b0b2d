import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

/** The path of a built Go program, or why it cannot be built on this machine. */
export type GoProgram = { readonly path: string } | { readonly path?: undefined; readonly missing: string };

/**
 * Builds the Go program of a folder beside this file. Returns the reason if Go is missing or too old, or if
 * modules cannot be downloaded; rejects if the build itself fails.
 */
export async function buildGoProgram(name: string, outFile: string): Promise<GoProgram> {
  const directory = new URL(`./${name}/`, import.meta.url).pathname;
  const built = await runGo(['build', '-trimpath', '-ldflags', '-s -w', '-o', outFile, '.'], directory);
  if (built.code === 0) return { path: outFile };
  const download = await runGo(['mod', 'download'], directory);
  if (download.code !== 0) return { missing: lastLine(download.errors) };
  throw new Error(`go build ended with ${built.code}: ${built.errors}`);
}

interface Ended {
  readonly code: number | null;
  readonly errors: string;
}

async function runGo(args: readonly string[], directory: string): Promise<Ended> {
  const child = spawn('go', args, { cwd: directory, stdio: ['ignore', 'ignore', 'pipe'] });
  const code = new Promise<number | null | 'missing'>((resolve, reject) => {
    child.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ENOENT' ? resolve('missing') : reject(error),
    );
    child.on('close', resolve);
  });
  const [ended, errors] = await Promise.all([code, text(child.stderr)]);
  return ended === 'missing' ? { code: null, errors: 'go is not in PATH' } : { code: ended, errors };
}

const lastLine = (output: string): string => output.trim().split('\n').at(-1) ?? '';
