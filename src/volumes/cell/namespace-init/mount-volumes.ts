import { spawnSync } from 'node:child_process';
import { readFileSync, mkdirSync } from 'node:fs';
import { parseMountInfo } from '../../../platform/mountinfo.ts';
import { type DirectoryHandle, withDirectory } from '../open-directory.ts';
import type { Plan, PlannedVolume, HiddenDirectories } from './plan.ts';
import { basename, dirname, join } from 'node:path';

/**
 * Binds the volumes at their directories below the app's root, in the mount namespace of this process, over
 * existing mounts. The app can change links and directories of the path at any time, so mount(8) gets an open
 * directory and not a path.
 */
export function mountVolumes({ root, volumes, hidden }: Pick<Plan, 'root' | 'volumes' | 'hidden'>): void {
  for (const volume of volumes) {
    const source = hiddenSource(hidden, volume.source);
    checkSource(volume, source);
    const target = `${root === '/' ? '' : root}${volume.containerDir}`;
    const stage = stageIn(hidden.at);
    for (const { at, args } of bindSteps(source, stage, volume.isReadOnly)) {
      const step = (directory: DirectoryHandle): boolean => (mountAt(directory, args), true);
      const path = at === 'stage' ? stage : target;
      if (withDirectory(path, step) === undefined) throw new Error(`the folder ${path} no longer exists`);
    }
    detach(stage);
  }
}

/**
 * Returns the steps of a bind. A running app must never see the mount without its restrictions, so they are
 * set on a stage; the bind of the stage inherits them.
 */
export function bindSteps(
  source: string,
  stage: string,
  isReadOnly: boolean,
): readonly { readonly at: 'stage' | 'target'; readonly args: readonly string[] }[] {
  const options = `remount,bind,${isReadOnly ? 'ro,' : ''}nosuid,nodev`;
  return [
    { at: 'stage', args: ['--bind', '--', source] },
    { at: 'stage', args: ['-o', options, '--', 'none'] },
    { at: 'target', args: ['--bind', '--', stage] },
  ];
}

/** Mounts /proc for the app's own processes, if the directory exists in its root. */
export function mountProc(root: string): void {
  withDirectory(`${root === '/' ? '' : root}/proc`, (directory) =>
    mountAt(directory, ['-t', 'proc', '-o', 'nosuid,nodev,noexec', '--', 'proc']),
  );
}

/**
 * Checks that the driver's mount is visible. Without it the app would write to a directory of this machine.
 */
function checkSource({ source, device }: PlannedVolume, inside: string): void {
  const mounts = parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8'));
  const mount = mounts.findLast(({ target }) => target === inside);
  if (mount?.device === device) return;
  throw new Error(
    `the driver's mount at ${source} is not visible in the app's mount namespace: that folder is not on a shared mount`,
  );
}

/** Runs mount(8) on an open directory. mount(8) gets it as descriptor 3, so that it resolves no path. */
function mountAt(directory: DirectoryHandle, args: readonly string[]): void {
  const { error, status, stderr } = spawnSync('mount', ['--no-canonicalize', ...args, '/proc/self/fd/3'], {
    stdio: ['ignore', 'ignore', 'pipe', directory.descriptor],
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' },
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`mount failed: ${stderr.toString().trim()}`);
}

/**
 * Covers the directories in which drivers mount, so that the app cannot reach volumes of other apps by path.
 * The directories stay available in a directory that only root can enter. Later mounts of drivers appear
 * there, because they may belong to the app.
 */
export function hideDrivers({ at, folders, parentMounts }: HiddenDirectories): void {
  mountOn(at, ['-t', 'tmpfs', '-o', 'mode=0700,nosuid,nodev,noexec', '--', 'tmpfs']);
  mkdirSync(stageIn(at));
  for (const [index, directory] of folders.entries()) {
    mkdirSync(join(at, `${index}`));
    mountOn(join(at, `${index}`), ['--rbind', '--', directory]);
  }
  // so later mounts of drivers appear only in the hidden directories
  for (const parentMount of parentMounts) {
    // a mount that has disappeared in the meantime contains nothing
    withDirectory(parentMount, (directory) => mountAt(directory, ['--make-private', '--']));
  }
  for (const directory of folders)
    mountOn(directory, ['-t', 'tmpfs', '-o', 'mode=0000,ro,nosuid,nodev,noexec', '--', 'tmpfs']);
}

/** Returns the path in the app's mount namespace of the driver's mount at `source`. */
const hiddenSource = ({ at, folders }: HiddenDirectories, source: string): string =>
  join(at, `${folders.indexOf(dirname(source))}`, basename(source));

/** Returns the path at which a volume is mounted before the app can see it. */
const stageIn = (at: string): string => join(at, 'stage');

/** Unmounts lazily, even if a process still uses the mount. */
function detach(path: string): void {
  const { status, stderr } = spawnSync(
    'umount',
    ['--lazy', '--no-canonicalize', '--internal-only', '--', path],
    {
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' },
    },
  );
  if (status !== 0) throw new Error(`umount failed: ${stderr.toString().trim()}`);
}

function mountOn(path: string, args: readonly string[]): void {
  if (withDirectory(path, (directory) => (mountAt(directory, args), true)) === undefined)
    throw new Error(`the folder ${path} no longer exists`);
}
