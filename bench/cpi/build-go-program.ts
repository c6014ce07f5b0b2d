import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

/** Builds the Go program of a folder beside this file, with the modules that a file in it names; undefined where there is no Go. A build that fails is an error. */
export async function buildGoProgram(
  folder: string,
  outFile: string,
  modules = 'go.mod',
): Promise<string | undefined> {
  const child = spawn(
    'go',
    ['build', `-modfile=${modules}`, '-trimpath', '-ldflags', '-s -w', '-o', outFile, '.'],
    {
      cwd: new URL(`./${folder}/`, import.meta.url).pathname,
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  const code = await new Promise<number | null | 'missing'>((resolve, reject) => {
    child.on('error', (error: NodeJS.ErrnoException) =>
      error.code === 'ENOENT' ? resolve('missing') : reject(error),
    );
    child.on('close', resolve);
  });
  if (code === 'missing') return undefined;
  if (code !== 0) throw new Error(`go build ended with ${code}: ${await text(child.stderr)}`);
  return outFile;
}
