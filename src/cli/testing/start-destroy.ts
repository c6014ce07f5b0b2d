import { spawn, type ChildProcess } from 'node:child_process';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { mainModulePath } from '../installation.ts';

const main = mainModulePath(join(import.meta.dirname, '..', '..', '..'));

/** How a `destroy` ended. */
export interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The command prefix that runs `destroy` as a user who is not root and who owns root's files. */
export const notRoot = ['unshare', '--user', '--map-user', '1000', '--map-group', '1000', '--'];

/**
 * Starts `destroy --force` in another process. `prefix` is the command that runs it. Without `manifestPath`,
 * it runs in the directory above `home`, and names no manifest.
 */
export function startDestroy(
  { home, manifestPath }: { readonly home: string; readonly manifestPath?: string },
  prefix: readonly string[] = [],
  flags: readonly string[] = ['--force'],
): { child: ChildProcess; ended: Promise<Ended> } {
  const named = manifestPath === undefined ? [] : [manifestPath];
  const [program = '', ...args] = [...prefix, process.execPath, main, 'destroy', ...named, ...flags];
  const child = spawn(program, args, {
    env: { PATH: process.env['PATH'], BOSH_KUBERNETES_HOME: home },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(manifestPath === undefined && { cwd: dirname(home) }),
  });
  const output = Promise.all([text(child.stdout), text(child.stderr)]);
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject);
    child.on(
      'close',
      (exitCode) => void output.then(([stdout, stderr]) => resolve({ exitCode, stdout, stderr }), reject),
    );
  });
  return { child, ended };
}
