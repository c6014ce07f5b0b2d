import type { PathSegment } from '../../platform/path-segment.ts';
import type { ContainerRecord } from './container-record.ts';
import { readRecords, removeRecord, withRecords, writeRecord } from './container-record.ts';
import { missingFolders, removeEmptyFolder, withDirectory } from './held-folder.ts';

/**
 * Records a container and creates its mount points. Containers may share directories: those of other records
 * on the way to its targets are recorded for it, too. The last container removes them.
 */
export async function createMountPoints(
  state: string,
  claim: Omit<ContainerRecord, 'folders'>,
  recorded: () => void,
): Promise<ContainerRecord> {
  return withRecords(state, async () => {
    const others = new Set((await readRecords(state)).flatMap(({ folders }) => folders));
    const isOnTheWay = (folder: string): boolean =>
      claim.targets.some((target) => `${target}/`.startsWith(`${folder}/`));
    const missing = claim.targets.flatMap((target) => missingFolders(target));
    const folders = [...new Set([...missing, ...[...others].filter(isOnTheWay)])];
    const record = { ...claim, folders: folders.toSorted((one, other) => one.length - other.length) };
    writeRecord(state, record);
    recorded();
    try {
      for (const target of claim.targets) withDirectory(target, () => undefined, true);
    } catch (error) {
      for (const folder of missing.toReversed()) removeEmptyFolder(folder);
      removeRecord(state, claim.container);
      throw error;
    }
    return record;
  });
}

/** Removes the directories that no other container needs, and the record. */
export async function removeMountPoints(state: string, container: PathSegment): Promise<void> {
  await withRecords(state, async () => {
    const records = await readRecords(state);
    const own = records.find((record) => record.container === container);
    const others = records.filter((record) => record !== own).flatMap(({ targets }) => targets);
    // removing a directory unmounts it in every mount namespace, so directories that other containers need
    // must stay
    const isNeeded = (folder: string): boolean =>
      others.some((target) => `${target}/`.startsWith(`${folder}/`));
    for (const folder of own?.folders.toReversed() ?? []) if (!isNeeded(folder)) removeEmptyFolder(folder);
    removeRecord(state, container);
  });
}
