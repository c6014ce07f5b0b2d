import { MountError, unmount, mountsOfSource, sourceOf, readAllMountTables } from '../mounts.ts';
import { mountsAtOrBelow, readMountTable } from '../../../src/platform/mountinfo.ts';
import { mountNamespaceOf } from '../runtime/kill-namespace.ts';
import { readdir } from 'node:fs/promises';

/**
 * Unmounts (not lazily) mounts that pods left in these volumes and that no other mount namespace has any
 * more, for example those of a pod deleted by force. A mount that a running pod has is left for that pod to
 * unmount.
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
    const location = { device, path: root };
    if (!others.some(({ mounts }) => mountsOfSource(mounts, location).length > 0)) {
      await unmount(target);
    }
  }
}

/**
 * Rejects with MountError (`busy`) if another pod has bound a directory of this one (hostPath). Such a mount
 * is not visible in this mount namespace.
 */
export async function assertNotMountedElsewhere(directory: string): Promise<void> {
  if ((await listDirectory(directory)).length === 0) {
    return;
  }
  const source = sourceOf(await readMountTable(), directory);
  for (const { pid, mounts } of await readAllMountTables()) {
    const used = mountsOfSource(mounts, source)[0];
    if (used !== undefined) {
      throw new MountError(`${directory}: target is busy: process ${pid} has ${used.root} mounted`, true);
    }
  }
}

/** Returns the names in a directory; none if the directory does not exist. */
export async function listDirectory(directory: string): Promise<string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return [];
    }
    throw error;
  }
}
