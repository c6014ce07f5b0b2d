import { readFileSync } from 'node:fs';
import { parseMountInfo } from '../../../platform/mountinfo.ts';
import type { DirectoryHandle } from '../held-folder.ts';
import { withDirectory } from '../held-folder.ts';
import { detach, hiddenSource, stageIn } from './hide-drivers.ts';
import { mountAt } from './mount-at.ts';
import type { Plan, PlannedVolume } from './plan.ts';

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
    for (const { at, words } of bindSteps(source, stage, volume.isReadOnly)) {
      const step = (folder: DirectoryHandle): boolean => (mountAt(folder, words), true);
      const path = at === 'stage' ? stage : target;
      if (withDirectory(path, step) === undefined) throw new Error(`the folder ${path} is gone`);
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
): readonly { readonly at: 'stage' | 'target'; readonly words: readonly string[] }[] {
  const options = `remount,bind,${isReadOnly ? 'ro,' : ''}nosuid,nodev`;
  return [
    { at: 'stage', words: ['--bind', '--', source] },
    { at: 'stage', words: ['-o', options, '--', 'none'] },
    { at: 'target', words: ['--bind', '--', stage] },
  ];
}

/** Mounts /proc for the app's own processes, if the directory exists in its root. */
export function mountProc(root: string): void {
  withDirectory(`${root === '/' ? '' : root}/proc`, (folder) =>
    mountAt(folder, ['-t', 'proc', '-o', 'nosuid,nodev,noexec', '--', 'proc']),
  );
}

/**
 * Checks that the driver's mount is visible. Without it the app would write to a directory of this machine.
 */
function checkSource({ source, device }: PlannedVolume, inside: string): void {
  const mounts = parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8'));
  const found = mounts.findLast(({ target }) => target === inside);
  if (found?.device === device) return;
  throw new Error(
    `the driver's mount at ${source} does not show in the app's mount namespace: no mount that is shared has that folder`,
  );
}
