import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { removeTree } from '../../platform/remove-tree.ts';
import { isRunning } from '../is-running.ts';

/**
 * Returns the path of an entry that is being made: `.<name>.<pid>`. Finished entries of one request are
 * `<key>-<digest of the package list>`.
 */
export function partialEntry(entry: string): string {
  const cut = entry.lastIndexOf('/') + 1;
  return `${entry.slice(0, cut)}.${entry.slice(cut)}.${process.pid}`;
}

/** Returns the newest entry of this request. */
export async function newestEntry(directory: string, key: string): Promise<string | undefined> {
  const names = (await readdir(directory)).filter((name) => name.startsWith(`${key}-`));
  const dated = await Promise.all(
    names.map(async (name) => ({
      path: join(directory, name),
      time: (await stat(join(directory, name))).mtimeMs,
    })),
  );
  return dated.toSorted((a, b) => b.time - a.time)[0]?.path;
}

/** Removes the folders that killed builds left: those of processes that do not run any more. */
export async function removeLeftovers(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const pid = /^\..+\.([0-9]+)$/.exec(name)?.[1];
    if (pid !== undefined && !isRunning(Number(pid)))
      await removeTree(join(directory, name), { within: directory });
  }
}
