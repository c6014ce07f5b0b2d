import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { join } from 'node:path';
import { MountError } from './mount-error.ts';
import type { MountOrder } from './mount-order.ts';
import type { Mounter } from './mounter.ts';

/**
 * A stand-in for demos and tests without file servers: in place of a share it binds the local folder below
 * `from` that has the share's path. Needs root.
 */
export function bindMounter(from: string): Mounter {
  return {
    mount: async (order, target, signal) => {
      const options = `bind,nosuid,nodev${order.readOnly ? ',ro' : ''}`;
      await run(['mount', '-o', options, '--', join(from, pathOf(order)), target], signal);
    },
    unmount: async (target, signal) => {
      while ((await mountPoints()).includes(target)) await run(['umount', '-l', '--', target], signal);
    },
    probe: async (target, deadlineSeconds) => {
      if (!(await mountPoints()).includes(target)) return 'absent';
      try {
        await run(['stat', '-f', '--', target], AbortSignal.timeout(deadlineSeconds * 1000));
        return 'answers';
      } catch (error) {
        if (error instanceof MountError) return 'stale';
        throw error;
      }
    },
    mounted: async (folder) => {
      const below = (await mountPoints()).filter((point) => point.startsWith(`${folder}/`));
      return [...new Set(below)];
    },
  };
}

const pathOf = (order: MountOrder): string =>
  order.kind === 'nfs' ? order.path : order.share.replace(/^\/\/[^/]*/u, '');

async function run(words: readonly [string, ...string[]], signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const [program, ...rest] = words;
  const child = spawn(program, rest, { stdio: ['ignore', 'ignore', 'pipe'], detached: true });
  const kill = (): void => killGroup(child.pid);
  signal.addEventListener('abort', kill);
  try {
    const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'close') as Promise<[number]>]);
    if (signal.aborted) throw new MountError('TIMED_OUT', `${program} was ended at its deadline`);
    if (code === 0) return;
    const missing = /does not exist|No such/u.test(said);
    throw new MountError(
      missing ? 'NO_SUCH_SHARE' : 'FAILED',
      `${missing ? 'the share is not there' : 'the share was not mounted'}: ${said.trim().slice(0, 300)}`,
    );
  } finally {
    signal.removeEventListener('abort', kill);
  }
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch (error) {
    // it has just ended
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** mountinfo writes blanks and backslashes in octal. */
async function mountPoints(): Promise<string[]> {
  const lines = (await readFile('/proc/self/mountinfo', 'utf8')).split('\n');
  return lines
    .map((line) => line.split(' ')[4] ?? '')
    .map((point) =>
      point.replaceAll(/\\([0-7]{3})/gu, (_, octal: string) =>
        String.fromCharCode(Number.parseInt(octal, 8)),
      ),
    );
}
