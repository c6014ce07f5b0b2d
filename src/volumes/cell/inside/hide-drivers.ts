import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { withDirectory } from '../held-folder.ts';
import { mountAt } from './mount-at.ts';
import type { HiddenFolders } from './plan.ts';

/**
 * Covers the directories in which drivers mount, so that the app cannot reach volumes of other apps by path.
 * The directories stay available in a directory that only root can enter. Later mounts of drivers appear
 * there, because they may belong to the app.
 */
export function hideDrivers({ at, folders, holders }: HiddenFolders): void {
  mountOn(at, ['-t', 'tmpfs', '-o', 'mode=0700,nosuid,nodev,noexec', '--', 'tmpfs']);
  mkdirSync(stageIn(at));
  for (const [index, folder] of folders.entries()) {
    mkdirSync(join(at, `${index}`));
    mountOn(join(at, `${index}`), ['--rbind', '--', folder]);
  }
  // so later mounts of drivers appear only in the hidden directories
  for (const holder of holders) {
    // a mount that has disappeared in the meantime contains nothing
    withDirectory(holder, (folder) => mountAt(folder, ['--make-private', '--']));
  }
  for (const folder of folders)
    mountOn(folder, ['-t', 'tmpfs', '-o', 'mode=0000,ro,nosuid,nodev,noexec', '--', 'tmpfs']);
}

/** Returns the path in the app's mount namespace of the driver's mount at `source`. */
export const hiddenSource = ({ at, folders }: HiddenFolders, source: string): string =>
  join(at, `${folders.indexOf(dirname(source))}`, basename(source));

/** Returns the path at which a volume is mounted before the app can see it. */
export const stageIn = (at: string): string => join(at, 'stage');

/** Unmounts lazily, even if a process still uses the mount. */
export function detach(path: string): void {
  const { status, stderr } = spawnSync(
    'umount',
    ['--lazy', '--no-canonicalize', '--internal-only', '--', path],
    {
      env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' },
    },
  );
  if (status !== 0) throw new Error(`umount failed: ${stderr.toString().trim()}`);
}

function mountOn(path: string, words: readonly string[]): void {
  if (withDirectory(path, (folder) => (mountAt(folder, words), true)) === undefined)
    throw new Error(`the folder ${path} is gone`);
}
