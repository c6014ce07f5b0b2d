import { execFile } from 'node:child_process';
import { lstat, mkdir, readFile, rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { ProductError } from '../../errors/product-error.ts';
import { errorCode, errorText } from '../file/error-code.ts';
import { realFolder } from '../file/real-folder.ts';
import { parseMountinfo, locateOnFilesystem } from './mount-table.ts';
import type { Mount, MountTable } from './mount-table.ts';

const run = promisify(execFile);
// the shims first, which the entry of the VM's pod writes: where nothing may be mounted they make links instead
const searchPath = '/var/lib/bosh-kubernetes/shims:/usr/sbin:/usr/bin:/sbin:/bin';
const environment = { PATH: searchPath, LC_ALL: 'C' };

/**
 * The kernel's mounts, through mount(8) and umount(8). At the paths of `linkable` a link counts as a mount of what it
 * leads to: in a container that may not mount, the shims make one.
 */
export const systemMountTable = (linkTargets: readonly string[]): MountTable => ({
  async list() {
    const mounts = parseMountinfo(await readFile('/proc/self/mountinfo', 'utf8'));
    const links = await Promise.all(linkTargets.map((path) => mountFromLink(mounts, path)));
    return [...mounts, ...links.filter((link) => link !== undefined)];
  },

  async bind(source, target) {
    try {
      await removeDeadLink(target);
      await mkdir(target, { recursive: true, mode: 0o700 });
      await run('mount', ['--bind', '--', source, target], { env: environment });
    } catch (error) {
      throw new ProductError(
        'AGENT_DISK_FAILED',
        `mounting ${source} on ${target} failed: ${outputOf(error)}`,
        {
          cause: error,
        },
      );
    }
  },

  async unmount(target) {
    try {
      await run('umount', ['--', target], { env: environment });
      return 'unmounted';
    } catch (error) {
      const output = outputOf(error);
      if (output.includes('busy')) return 'busy';
      throw new ProductError('AGENT_DISK_FAILED', `unmounting ${target} failed: ${output}`, { cause: error });
    }
  },

  async setReadOnly(target, isReadOnly) {
    // a link in place of a mount cannot be closed to writers
    if (await isLink(target)) return 'done';
    try {
      await run('mount', ['-o', `remount,bind,${isReadOnly ? 'ro' : 'rw'}`, '--', target], {
        env: environment,
      });
      return 'done';
    } catch (error) {
      const output = outputOf(error);
      if (output.includes('busy')) return 'busy';
      throw new ProductError('AGENT_DISK_FAILED', `remounting ${target} failed: ${output}`, { cause: error });
    }
  },
});

async function mountFromLink(mounts: readonly Mount[], path: string): Promise<Mount | undefined> {
  if (!(await isLink(path))) return undefined;
  const leadsTo = await realFolder(path);
  const volume = leadsTo === undefined ? undefined : locateOnFilesystem(mounts, leadsTo);
  return volume === undefined ? undefined : { ...volume, mountPoint: path, isReadOnly: false };
}

/** A link to a disk that was pulled away; nothing could be made or mounted there. */
async function removeDeadLink(path: string): Promise<void> {
  if ((await isLink(path)) && (await realFolder(path)) === undefined) await rm(path);
}

async function isLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink();
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}

function outputOf(error: unknown): string {
  if (
    error instanceof Error &&
    'stderr' in error &&
    typeof error.stderr === 'string' &&
    error.stderr !== ''
  ) {
    return error.stderr.trim();
  }
  return errorText(error);
}
