import { mkdir, rmdir } from 'node:fs/promises';
import { readMountTable, type MountEntry } from '../../../../src/platform/mountinfo.ts';
import { readAllMountTables } from '../../../../embedded-cluster/node/mounts.ts';
import { run } from './run.ts';

/** Returns the topmost mount at exactly this path in this mount namespace. */
export async function mountAt(path: string): Promise<MountEntry | undefined> {
  return (await readMountTable()).findLast(({ target }) => target === path);
}

export async function mountDevice(device: string, path: string, options: readonly string[]): Promise<void> {
  await mkdir(path, { recursive: true });
  await run('mount', '-t', 'ext4', '-o', ['rw', ...options].join(','), device, path);
}

export async function bind(from: string, to: string, isReadOnly: boolean): Promise<void> {
  await mkdir(to, { recursive: true });
  await run('mount', '--bind', from, to);
  if (isReadOnly) await run('mount', '-o', 'remount,bind,ro', to);
}

/** Unmounts all stacked mounts at the path, not lazily. Rejects if one is in use. */
export async function unmountAll(path: string): Promise<void> {
  while ((await mountAt(path)) !== undefined) {
    await run('umount', path);
  }
}

export async function removeMountPoint(path: string): Promise<void> {
  try {
    await rmdir(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/**
 * A process that sees the device mounted, and the path. One process for each mount namespace would be enough,
 * but all are returned.
 */
export interface Holder {
  readonly pid: number;
  readonly path: string;
}

/** Returns where a device is mounted, in any mount namespace that has a process. */
export async function holdersOf(number: string): Promise<Holder[]> {
  return (await readAllMountTables()).flatMap(({ pid, mounts }) =>
    mounts.filter(({ device }) => device === number).map(({ target }) => ({ pid, path: target })),
  );
}
