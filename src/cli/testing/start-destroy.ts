import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { mainModulePath } from '../installation.ts';
import type { SmallInstallation } from './small-installation.ts';

const main = mainModulePath(join(import.meta.dirname, '..', '..', '..'));

/** How a `destroy` ended. */
export interface Ended {
  readonly exitCode: number | null;
  readonly stderr: string;
}

/** The command prefix that runs `destroy` as a user who is not root and who owns root's files. */
export const notRoot = ['unshare', '--user', '--map-user', '1000', '--map-group', '1000', '--'];

/** Starts `destroy --force` in another process. `prefix` is the command that runs it. */
export function startDestroy(
  { home, manifestPath }: SmallInstallation,
  prefix: readonly string[] = [],
  flags: readonly string[] = ['--force'],
): { child: ChildProcess; ended: Promise<Ended> } {
  const [program = '', ...args] = [...prefix, process.execPath, main, 'destroy', manifestPath, ...flags];
  const child = spawn(program, args, {
    env: { PATH: process.env['PATH'], BOSH_KUBERNETES_HOME: home },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const errors = text(child.stderr);
  const ended = new Promise<Ended>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (exitCode) => void errors.then((stderr) => resolve({ exitCode, stderr }), reject));
  });
  return { child, ended };
}
