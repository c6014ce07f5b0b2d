import { readOwnFile } from '../../../platform/read-file.ts';

/** The file in the mount directory in which the old drivers kept their volumes. */
export const oldStateFile = 'driver-state.json';

/**
 * Returns how often an old driver has mounted each volume, by name. Returns an empty map if there is no such
 * file.
 */
export async function readLegacyMountCounts(path: string): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const [name, volume] of Object.entries(parse((await readOwnFile(path)) ?? '{}'))) {
    const count: unknown =
      typeof volume === 'object' && volume !== null && 'MountCount' in volume && volume.MountCount;
    if (typeof count === 'number' && Number.isSafeInteger(count) && count > 0) counts.set(name, count);
  }
  return counts;
}

/**
 * Parses the file. Text that is not JSON names no volume: its mounts are still adopted, each with a count of
 * 1.
 */
function parse(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}
