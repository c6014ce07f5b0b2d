import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { withDirectory } from '../held-folder.ts';
import { mountAt } from './mount-at.ts';
import type { HiddenFolders } from './plan.ts';

/**
 * Covers the folders in which drivers mount, so that the app reaches no volume of another app by its path. They stay
 * in a folder that only root enters, and there the mounts show that drivers make later: the app's own volume may be
 * one of them.
 */
export function hideDrivers({ at, folders, holders }: HiddenFolders): void {
  mountOn(at, ['-t', 'tmpfs', '-o', 'mode=0700,nosuid,nodev,noexec', '--', 'tmpfs']);
  mkdirSync(stageIn(at));
  for (const [index, folder] of folders.entries()) {
    mkdirSync(join(at, `${index}`));
    mountOn(join(at, `${index}`), ['--rbind', '--', folder]);
  }
  // what is mounted later shows nowhere else
  for (const holder of holders) {
    // what has gone meanwhile holds nothing
    withDirectory(holder, (folder) => mountAt(folder, ['--make-private', '--']));
  }
  for (const folder of folders)
    mountOn(folder, ['-t', 'tmpfs', '-o', 'mode=0000,ro,nosuid,nodev,noexec', '--', 'tmpfs']);
}

/** Where the app's mount namespace has what the driver mounted at `source`. */
export const hiddenSource = ({ at, folders }: HiddenFolders, source: string): string =>
  join(at, `${folders.indexOf(dirname(source))}`, basename(source));

/** Where a volume is mounted before the app sees it. */
export const stageIn = (at: string): string => join(at, 'stage');

/** Takes away what is mounted at `path`, whoever still uses it. */
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
