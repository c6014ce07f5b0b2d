import { readFileSync } from 'node:fs';
import { parseMountInfo } from '../../../platform/mountinfo.ts';
import type { DirectoryHandle } from '../held-folder.ts';
import { withDirectory } from '../held-folder.ts';
import { detach, hiddenSource, stageIn } from './hide-drivers.ts';
import { mountAt } from './mount-at.ts';
import type { Plan, PlannedVolume } from './plan.ts';

/**
 * Binds the volumes at their folders below the app's root, in this process's mount namespace, over what is
 * mounted there. The app can change links and folders on the way at any moment: mount(8) gets a folder that
 * is held, not a path.
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

/** An app that runs sees the mount only with its restrictions, which a bind takes over from its source. */
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

/** A /proc of the app's own processes, where its root has the folder. */
export function mountProc(root: string): void {
  withDirectory(`${root === '/' ? '' : root}/proc`, (folder) =>
    mountAt(folder, ['-t', 'proc', '-o', 'nosuid,nodev,noexec', '--', 'proc']),
  );
}

/** Without a mount there the app would write into a folder of this machine. */
function checkSource({ source, device }: PlannedVolume, inside: string): void {
  const mounts = parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8'));
  const found = mounts.findLast(({ target }) => target === inside);
  if (found?.device === device) return;
  throw new Error(
    `the driver's mount at ${source} does not show in the app's mount namespace: no mount that is shared has that folder`,
  );
}
