import { rm, readdir } from 'node:fs/promises';
import { runCommand } from './command.ts';
import { readMountTable, isAtOrBelow, type MountEntry } from '../../src/platform/mountinfo.ts';
import { writeFile } from '../../src/platform/write-file.ts';

/** A mount(8) or umount(8) failed. `busy`: a process or a mount still uses the mount. */
export class MountError extends Error {
  readonly busy: boolean;

  constructor(message: string, busy: boolean) {
    super(message);
    this.name = 'MountError';
    this.busy = busy;
  }
}

/** Runs mount(8) with exact arguments in the node's own mount namespace. */
export async function mount(...args: readonly string[]): Promise<void> {
  const result = await runCommand('mount', args);
  if (result.exitCode !== 0) {
    throw new MountError(`mount ${args.join(' ')}: ${firstLine(result.stderr)}`, false);
  }
}

/**
 * Makes all mounts with one mount(8), which reads `file`; this function writes the file. If one mount fails,
 * the others are still made.
 */
export async function mountAll(entries: readonly FstabEntry[], file: string): Promise<void> {
  await writeFile(file, formatFstab(entries));
  try {
    await mount('-a', '-T', file);
  } finally {
    await rm(file);
  }
}

/**
 * Unmounts, never lazily, everything that is mounted at exactly these paths. A path without a mount is no
 * error. If one mount is busy, the others are still unmounted.
 */
export async function unmount(...targets: readonly string[]): Promise<void> {
  for (;;) {
    const table = await readMountTable();
    const mounted = targets.filter((target) => table.some((entry) => entry.target === target));
    if (mounted.length === 0) {
      return;
    }
    const result = await runCommand('umount', mounted);
    if (result.exitCode !== 0) {
      throw new MountError(firstLine(result.stderr), /busy/.test(result.stderr));
    }
  }
}

const firstLine = (text: string): string => text.trim().split('\n')[0] ?? '';

/** One mount of a batch. One process, `mount -a -T`, makes all mounts of a batch. */
export interface FstabEntry {
  readonly source: string;
  readonly target: string;
  readonly type: string;
  readonly options: readonly string[];
}

const encodeField = (field: string): string =>
  field.replace(/[\\\s#]/g, (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`);

/**
 * Returns the text of an fstab(5) file. Spaces, tabs, newlines and backslashes in paths are escaped as
 * mount(8) reads them.
 */
export function formatFstab(entries: readonly FstabEntry[]): string {
  return entries
    .map(
      ({ source, target, type, options }) =>
        `${encodeField(source)} ${encodeField(target)} ${type} ${options.join(',')} 0 0\n`,
    )
    .join('');
}

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
export function mountsOfSource(table: readonly MountEntry[], source: MountSource): MountEntry[] {
  return table.filter(
    (entry) =>
      entry.device === source.device && isAtOrBelow(entry.root.replace(/\/\/deleted$/, ''), source.path),
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
        if (isMissing(error)) {
          return undefined;
        }
        throw error;
      }
    }),
  );
  return tables.filter((table) => table !== undefined);
}

/** ENOENT and ESRCH: the process ended. EINVAL: it is a zombie, which has no mount namespace any more. */
function isMissing(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code;
  return code === 'ENOENT' || code === 'ESRCH' || code === 'EINVAL';
}
