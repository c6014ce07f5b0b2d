import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { parseMountInfo } from '../../../platform/mountinfo.ts';
import type { HeldFolder } from '../held-folder.ts';
import { withFolder } from '../held-folder.ts';
import type { Plan, PlannedVolume } from './plan.ts';

/**
 * Binds the volumes at their folders below the app's root, in this process's mount namespace, over what is
 * mounted there. The app can change links and folders on the way at any moment: mount(8) gets a folder that
 * is held, not a path.
 */
export function mountVolumes({ root, volumes }: Pick<Plan, 'root' | 'volumes'>): void {
  for (const volume of volumes) {
    checkSource(volume);
    const target = `${root === '/' ? '' : root}${volume.containerDir}`;
    const bind = (folder: HeldFolder): void => mountAt(folder, ['--bind', '--', volume.source]);
    const restrict = (folder: HeldFolder): void => {
      const mode = volume.isReadOnly ? 'ro,' : '';
      mountAt(folder, ['-o', `remount,bind,${mode}nosuid,nodev`, '--', 'none']);
    };
    // held anew, since the folder of before lies below the mount
    for (const step of [bind, restrict]) {
      if (withFolder(target, (folder) => (step(folder), true)) === undefined)
        throw new Error(`the folder ${target} is gone`);
    }
  }
}

/** A /proc of the app's own processes, where its root has the folder. */
export function mountProc(root: string): void {
  withFolder(`${root === '/' ? '' : root}/proc`, (folder) =>
    mountAt(folder, ['-t', 'proc', '-o', 'nosuid,nodev,noexec', '--', 'proc']),
  );
}

/** Without a mount there the app would write into a folder of this machine. */
function checkSource({ source, device }: PlannedVolume): void {
  const mounts = parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8'));
  const found = mounts.findLast(({ target }) => target === source);
  if (found?.device === device) return;
  throw new Error(
    `the driver's mount at ${source} does not show in the app's mount namespace: no mount that is shared has that folder`,
  );
}

/** mount(8) has the folder as its descriptor 3, and resolves no path. */
function mountAt(folder: HeldFolder, words: readonly string[]): void {
  const { error, status, stderr } = spawnSync('mount', ['--no-canonicalize', ...words, '/proc/self/fd/3'], {
    stdio: ['ignore', 'ignore', 'pipe', folder.descriptor],
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' },
  });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error(`mount failed: ${stderr.toString().trim()}`);
}
