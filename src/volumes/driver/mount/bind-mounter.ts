import { join } from 'node:path';
import { MountError } from './mount-error.ts';
import type { MountSpec } from './mount-command.ts';
import type { Mounter } from './mounter.ts';
import { readMountTable } from '../../../platform/mountinfo.ts';
import { runMountProgram } from './run-program.ts';

const searchPath = '/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * Returns a mounter for demos and tests without file servers. Instead of a share it binds the local directory
 * below `sourceDirectory` that has the share's path. It needs root.
 */
export function bindMounter(sourceDirectory: string): Mounter {
  return {
    mount: async (spec, target, signal) => {
      const options = `bind,nosuid,nodev${spec.readOnly ? ',ro' : ''}`;
      await run('mount', ['-o', options, '--', join(sourceDirectory, pathOf(spec)), target], signal);
    },
    unmount: async (target, signal) => {
      while ((await mountPoints()).includes(target)) await run('umount', ['-l', '--', target], signal);
    },
    probe: async (target, deadlineSeconds) => {
      if (!(await mountPoints()).includes(target)) return 'absent';
      const signal = AbortSignal.timeout(deadlineSeconds * 1000);
      const { exitCode } = await runMountProgram({
        program: 'stat',
        args: ['-f', '--', target],
        searchPath,
        signal,
      });
      return exitCode === 0 ? 'answers' : 'stale';
    },
    listMounts: async (directory) => {
      const below = (await mountPoints()).filter((point) => point.startsWith(`${directory}/`));
      return [...new Set(below)];
    },
  };
}

const pathOf = (spec: MountSpec): string =>
  spec.kind === 'nfs' ? spec.path : spec.share.replace(/^\/\/[^/]*/u, '');

async function run(program: string, args: readonly string[], signal: AbortSignal): Promise<void> {
  const { exitCode, stderr, wasKilled } = await runMountProgram({ program, args, searchPath, signal });
  if (exitCode === 0) return;
  if (wasKilled) throw new MountError('TIMED_OUT', `${program} did not end in time`);
  const isMissing = /does not exist|No such/u.test(stderr);
  throw new MountError(isMissing ? 'NO_SUCH_SHARE' : 'FAILED', `local bind, no share: ${stderr.trim()}`);
}

async function mountPoints(): Promise<readonly string[]> {
  return (await readMountTable()).map(({ target }) => target);
}
