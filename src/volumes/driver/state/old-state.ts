import { readOwnFile } from '../../../platform/read-file.ts';

/** Where the old drivers kept their volumes, in the mount folder. */
export const oldStateFile = 'driver-state.json';

/** How often each volume of an old driver was mounted, by name; empty where there is no such file. */
export async function readLegacyMountCounts(path: string): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const [name, volume] of Object.entries(parse((await readOwnFile(path)) ?? '{}'))) {
    const count: unknown =
      typeof volume === 'object' && volume !== null && 'MountCount' in volume && volume.MountCount;
    if (typeof count === 'number' && Number.isSafeInteger(count) && count > 0) counts.set(name, count);
  }
  return counts;
}

/** What is no JSON names no volume: mounts are adopted all the same, each as mounted once. */
function parse(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch (error) {
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}
