import { execFile } from 'node:child_process';
import { lstat, mkdir, readFile, rm } from 'node:fs/promises';
import { promisify } from 'node:util';
import { ProductError } from '../../errors/product-error.ts';
import { errorCode, errorText } from '../file/error-code.ts';
import { realFolder } from '../file/real-folder.ts';
import { parseMountinfo, locateOnFilesystem } from './mount-table.ts';
import type { Mount, MountTable } from './mount-table.ts';

const run = promisify(execFile);
// The shims come first. The entry of the VM's pod writes them; if the pod may not mount, they create links
// instead.
const searchPath = '/var/lib/bosh-kubernetes/shims:/usr/sbin:/usr/bin:/sbin:/bin';
const environment = { PATH: searchPath, LC_ALL: 'C' };

/**
 * The kernel's mounts, through mount(8) and umount(8). A link at a path of `linkTargets` counts as a mount of
 * the directory that it leads to, because the shims create such links in a container that may not mount.
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
    // A link that replaces a mount cannot be made read-only.
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

/**
 * Removes a link to a disk that has been detached. Otherwise no directory could be created or mounted there.
 */
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
