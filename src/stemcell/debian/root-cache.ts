import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { removeTree } from '../../platform/remove-tree.ts';
import { isRunning } from '../is-running.ts';

/** Entries of one request are `<key>-<digest of the package list>`; `.<name>.<pid>` is one that is being made. */
export function partialEntry(entry: string): string {
  const cut = entry.lastIndexOf('/') + 1;
  return `${entry.slice(0, cut)}.${entry.slice(cut)}.${process.pid}`;
}

/** The entry of that request that was made last. */
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

/** Removes what builds that were killed left: folders of a process that is not there any more. */
export async function removeLeftovers(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const pid = /^\..+\.([0-9]+)$/.exec(name)?.[1];
    if (pid !== undefined && !isRunning(Number(pid)))
      await removeTree(join(directory, name), { within: directory });
  }
}
