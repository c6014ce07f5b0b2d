import { lstat, mkdir, readFile, rm } from 'node:fs/promises';
import { ProductError } from '../../errors/product-error.ts';
import { parseMountInfo } from '../../platform/mountinfo.ts';
import { isSystemError, runProgram } from '../../platform/run-program.ts';
import { errorCode, errorMessage } from '../file/error-code.ts';
import { resolveDirectory } from '../file/files.ts';

/** One line of mountinfo, as far as the agent needs it. */
export interface Mount {
  /** `major:minor` of the file system. */
  readonly device: string;
  /** The directory of that file system that is mounted. */
  readonly root: string;
  readonly mountPoint: string;
  /** True if this mount is read-only, whether or not its file system is. */
  readonly isReadOnly: boolean;
}

/** The mounts of the agent's own mount namespace. */
export interface MountTable {
  list(): Promise<readonly Mount[]>;
  /** Mounts a directory on another, which is created if it does not exist. */
  bind(source: string, target: string): Promise<void>;
  /** Unmounts without force or lazy unmount. Returns `busy` if the mount is in use. */
  unmount(target: string): Promise<'unmounted' | 'busy'>;
  /**
   * Makes this mount, and no other mount of the file system, read-only or writable. Returns `busy` if a file
   * is open for writing.
   */
  setReadOnly(target: string, isReadOnly: boolean): Promise<'done' | 'busy'>;
}

/** Reads the text of a mountinfo file. */
export function parseMounts(text: string): readonly Mount[] {
  return parseMountInfo(text).map(({ device, root, target, options }) => ({
    ...{ device, root, mountPoint: target },
    isReadOnly: options.includes('ro'),
  }));
}

/** Returns the mount at exactly this path, the topmost one if there are several. */
export function mountAt(mounts: readonly Mount[], path: string): Mount | undefined {
  return mounts.findLast((mount) => mount.mountPoint === path);
}

/**
 * Returns the file system and the directory of it that a path without symbolic links leads to. A bind mount
 * of the path has the same two values.
 */
export function locateOnFilesystem(
  mounts: readonly Mount[],
  path: string,
): Pick<Mount, 'device' | 'root'> | undefined {
  const covers = (mount: Mount): boolean =>
    mount.mountPoint === '/' || mount.mountPoint === path || path.startsWith(`${mount.mountPoint}/`);
  let best: Mount | undefined;
  for (const mount of mounts) {
    if (covers(mount) && mount.mountPoint.length >= (best?.mountPoint.length ?? 0)) best = mount;
  }
  if (best === undefined) return undefined;
  const below = path.slice(best.mountPoint === '/' ? 0 : best.mountPoint.length);
  const root = `${best.root === '/' ? '' : best.root}${below === '/' ? '' : below}`;
  return { device: best.device, root: root === '' ? '/' : root };
}

/** Returns true if both show the same directory of the same file system. */
export function isSameMountRoot(
  left: Pick<Mount, 'device' | 'root'> | undefined,
  right: Pick<Mount, 'device' | 'root'> | undefined,
): boolean {
  return left !== undefined && left.device === right?.device && left.root === right.root;
}

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
    const mounts = parseMounts(await readFile('/proc/self/mountinfo', 'utf8'));
    const links = await Promise.all(linkTargets.map((path) => mountFromLink(mounts, path)));
    return [...mounts, ...links.filter((link) => link !== undefined)];
  },

  async bind(source, target) {
    try {
      await removeDeadLink(target);
      await mkdir(target, { recursive: true, mode: 0o700 });
      const problem = await run('mount', ['--bind', '--', source, target]);
      if (problem !== undefined) throw new Error(problem);
    } catch (error) {
      throw new ProductError(
        'AGENT_DISK_FAILED',
        `mounting ${source} on ${target} failed: ${errorMessage(error)}`,
        { cause: error },
      );
    }
  },

  async unmount(target) {
    const problem = await run('umount', ['--', target]);
    if (problem === undefined) return 'unmounted';
    if (problem.includes('busy')) return 'busy';
    throw new ProductError('AGENT_DISK_FAILED', `unmounting ${target} failed: ${problem}`);
  },

  async setReadOnly(target, isReadOnly) {
    // A link that replaces a mount cannot be made read-only.
    if (await isLink(target)) return 'done';
    const problem = await run('mount', ['-o', `remount,bind,${isReadOnly ? 'ro' : 'rw'}`, '--', target]);
    if (problem === undefined) return 'done';
    if (problem.includes('busy')) return 'busy';
    throw new ProductError('AGENT_DISK_FAILED', `remounting ${target} failed: ${problem}`);
  },
});

async function mountFromLink(mounts: readonly Mount[], path: string): Promise<Mount | undefined> {
  if (!(await isLink(path))) return undefined;
  const leadsTo = await resolveDirectory(path);
  const volume = leadsTo === undefined ? undefined : locateOnFilesystem(mounts, leadsTo);
  return volume === undefined ? undefined : { ...volume, mountPoint: path, isReadOnly: false };
}

/**
 * Removes a link to a disk that has been detached. Otherwise no directory could be created or mounted there.
 */
async function removeDeadLink(path: string): Promise<void> {
  if ((await isLink(path)) && (await resolveDirectory(path)) === undefined) await rm(path);
}

async function isLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink();
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}

/** Returns why the program failed, or undefined if it succeeded. */
async function run(program: string, args: readonly string[]): Promise<string | undefined> {
  try {
    const { exitCode, killedBy, stderr } = await runProgram({ file: program, args, environment });
    if (exitCode === 0) return undefined;
    return stderr.trim() || `${program} ended with ${killedBy ?? `exit code ${exitCode}`}`;
  } catch (error) {
    if (!isSystemError(error)) throw error;
    return errorMessage(error);
  }
}
