import { MountError, unmount } from '../mounts/mount-command.ts';
import { mountsAtOrBelow, readMountTable } from '../../../platform/mountinfo.ts';
import { mountsOfSource, sourceOf, readAllMountTables } from '../mounts/mount-table.ts';
import { mountNamespaceOf } from '../runtime/kill-namespace.ts';
import { listDirectory } from './list-directory.ts';

/**
 * Unmounts, never lazily, what another pod mounted into those volumes and nobody has any more: a pod deleted by force
 * leaves its mounts behind. What a living pod holds is that pod's to take away.
 */
export async function unmountStale(directories: readonly string[]): Promise<void> {
  const table = await readMountTable();
  const below = directories.flatMap((directory) =>
    mountsAtOrBelow(table, directory).filter(({ target }) => target !== directory),
  );
  if (below.length === 0) {
    return;
  }
  const own = mountNamespaceOf(process.pid);
  const others = (await readAllMountTables()).filter(({ pid }) => mountNamespaceOf(pid) !== own);
  for (const { device, root, target } of below.toReversed()) {
    const place = { device, path: root };
    if (!others.some(({ mounts }) => mountsOfSource(mounts, place).length > 0)) {
      await unmount(target);
    }
  }
}

/**
 * Another pod may have bound a directory of this one (hostPath): a mount that this namespace does not show. Rejects with
 * MountError (`busy`) then.
 */
export async function assertNotMountedElsewhere(directory: string): Promise<void> {
  if ((await listDirectory(directory)).length === 0) {
    return;
  }
  const place = sourceOf(await readMountTable(), directory);
  for (const { pid, mounts } of await readAllMountTables()) {
    const used = mountsOfSource(mounts, place)[0];
    if (used !== undefined) {
      throw new MountError(`${directory}: target is busy: process ${pid} has ${used.root} mounted`, true);
    }
  }
}
