import { readdir } from 'node:fs/promises';
import { isAtOrBelow, readMountTable, type MountEntry } from '../../../src/platform/mountinfo.ts';

/** A location in a file system, independent of where it is mounted: mountinfo's device and root. */
export interface MountSource {
  readonly device: string;
  readonly path: string;
}

/** Returns the mount that contains this absolute path without symlinks. */
export function mountOf(table: readonly MountEntry[], path: string): MountEntry {
  const covering = table
    .filter((entry) => isAtOrBelow(path, entry.target))
    .reduce<MountEntry | undefined>(
      (best, entry) => (best === undefined || entry.target.length >= best.target.length ? entry : best),
      undefined,
    );
  if (covering === undefined) {
    throw new Error(`no mount covers ${path}`);
  }
  return covering;
}

/**
 * Returns the location of this path in its file system, as the `root` field of a bind mount of it would show.
 */
export function sourceOf(table: readonly MountEntry[], path: string): MountSource {
  const entry = mountOf(table, path);
  const below = entry.target === '/' ? path : path.slice(entry.target.length);
  const joined = entry.root === '/' ? below : `${entry.root}${below === '/' ? '' : below}`;
  return { device: entry.device, path: joined === '' ? '/' : joined };
}

/** Returns the entries that show this location or a location below it. */
export function mountsOfSource(table: readonly MountEntry[], place: MountSource): MountEntry[] {
  return table.filter(
    (entry) =>
      entry.device === place.device && isAtOrBelow(entry.root.replace(/\/\/deleted$/, ''), place.path),
  );
}

const lockedFlags = ['nosuid', 'nodev', 'noexec', 'noatime', 'nodiratime', 'relatime', 'nosymfollow'];

/**
 * Returns the flags that a remount of a bind of this mount has to repeat: in a user namespace the kernel does
 * not allow to drop them (mount_namespaces(7), "locked" flags).
 */
export function flagsToPreserve(entry: MountEntry): string[] {
  return entry.options.filter((option) => lockedFlags.includes(option));
}

export interface ProcessMounts {
  readonly pid: number;
  readonly mounts: readonly MountEntry[];
}

/**
 * Returns the mount tables of all processes in this pid namespace. A process that ends in the meantime is
 * left out.
 */
export async function readAllMountTables(): Promise<ProcessMounts[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const tables = await Promise.all(
    pids.map(async (pid) => {
      try {
        return { pid, mounts: await readMountTable(pid) };
      } catch (error) {
        if (isGone(error)) {
          return undefined;
        }
        throw error;
      }
    }),
  );
  return tables.filter((table) => table !== undefined);
}

/** ENOENT and ESRCH: the process ended. EINVAL: it is a zombie, which has no mount namespace any more. */
function isGone(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code;
  return code === 'ENOENT' || code === 'ESRCH' || code === 'EINVAL';
}
