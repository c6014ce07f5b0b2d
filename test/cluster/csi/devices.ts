import { stat, readFile, mkdir, rmdir } from 'node:fs/promises';
import { ProgramError, run } from './run.ts';
import { readMountTable, type MountEntry } from '../../../src/platform/mountinfo.ts';
import { readAllMountTables } from '../../../embedded-cluster/node/mounts.ts';

/** A loop device with a backing file. */
export interface LoopDevice {
  /** For example `/dev/loop3`. */
  readonly path: string;
  /** For example `7:3`, as in mountinfo. */
  readonly number: string;
  /** The inode of the backing file. It stays the same if the file is renamed or replaced. */
  readonly inode: number;
}

interface Listing {
  readonly loopdevices: readonly {
    readonly name: string;
    readonly 'maj:min': string;
    readonly 'back-ino': number | null;
    readonly 'back-maj:min': string | null;
  }[];
}

/**
 * Returns the machine's loop devices whose backing file is on the file system with the device number
 * `fileSystem` (stat's `dev`).
 */
async function listDevices(fileSystem: number): Promise<LoopDevice[]> {
  const text = await run('losetup', '--list', '--json', '--output', 'NAME,MAJ:MIN,BACK-INO,BACK-MAJ:MIN');
  // Without any device losetup prints nothing at all.
  if (text.trim() === '') return [];
  return (JSON.parse(text) as Listing).loopdevices.flatMap((device) => {
    const inode = device['back-ino'];
    if (inode === null || device['back-maj:min']?.trim() !== numberOf(fileSystem)) return [];
    return [{ path: device.name, number: device['maj:min'].trim(), inode }];
  });
}

/**
 * Formats stat's `dev` as `major:minor` (glibc's gnu_dev_major: 12 bits of major, 20 of minor on a local
 * disk).
 */
function numberOf(dev: number): string {
  const value = BigInt(dev);
  const major = ((value >> 8n) & 0xfffn) | ((value >> 32n) & ~0xfffn);
  const minor = (value & 0xffn) | ((value >> 12n) & ~0xffn);
  return `${major}:${minor}`;
}

/** Returns the loop devices whose backing file is this file, even if it was renamed. */
export async function devicesOf(file: string): Promise<LoopDevice[]> {
  const { dev, ino } = await stat(file);
  return (await listDevices(dev)).filter(({ inode }) => inode === ino);
}

/**
 * Returns the loop device of that number (`7:3`) if its backing file is on the file system of `directory`.
 */
export async function deviceOfNumber(number: string, directory: string): Promise<LoopDevice | undefined> {
  const { dev } = await stat(directory);
  return (await listDevices(dev)).find((device) => device.number === number);
}

/**
 * Returns the file's only loop device. Creates it if there is none. Two devices would be two file systems on
 * the same blocks.
 */
export async function attach(file: string): Promise<LoopDevice> {
  for (let tries = 0; tries < 10; tries += 1) {
    const [device, second] = await devicesOf(file);
    if (device !== undefined) {
      if (second === undefined) return device;
      throw new Error(`${file} is behind ${device.path} and ${second.path}`);
    }
    await run('losetup', '--find', '--nooverlap', file).catch((error: unknown) => {
      // Another node took the free device after losetup had chosen it.
      if (!(error instanceof ProgramError) || !/busy|failed to set up loop device/i.test(error.stderr))
        throw error;
    });
  }
  throw new Error(`${file} gets no loop device: losetup finds none that is free`);
}

/** Detaches the device. The kernel keeps it as long as it is mounted, which is not an error. */
export async function detach(device: LoopDevice): Promise<void> {
  await run('losetup', '--detach', device.path).catch((error: unknown) => {
    if (!(error instanceof ProgramError) || !/no such device/i.test(error.stderr)) throw error;
  });
}

/** Tells the device that the size of its file has changed. */
export async function readSize(device: LoopDevice): Promise<void> {
  await run('losetup', '--set-capacity', device.path);
}

/** Creates an empty file system on the whole device. */
export async function makeFileSystem(device: string): Promise<void> {
  await run('mkfs.ext4', '-q', '-F', '-m', '0', device);
}

/** Returns the type of the content of the device, or undefined if blkid finds none. */
export async function fileSystemOf(device: string): Promise<string | undefined> {
  try {
    const type = await run('blkid', '-p', '-u', 'filesystem', '-o', 'value', '-s', 'TYPE', device);
    return type.trim() || undefined;
  } catch (error) {
    if (error instanceof ProgramError && error.code === 2) return undefined;
    throw error;
  }
}

/**
 * Replays the journal and repairs what can be repaired safely. Rejects if the file system needs a manual
 * repair (e2fsck(8): exit code 4 or higher).
 */
export async function checkFileSystem(device: string): Promise<void> {
  try {
    await run('e2fsck', '-p', device);
  } catch (error) {
    if (!(error instanceof ProgramError) || error.code >= 4) throw error;
  }
}

/**
 * Grows the file system of an unmounted device to the device's size. Does nothing if it already has that
 * size.
 */
export async function growFileSystem(device: string): Promise<void> {
  try {
    await run('resize2fs', device);
  } catch (error) {
    if (!(error instanceof ProgramError) || !/e2fsck -f/.test(error.stderr)) throw error;
    await run('e2fsck', '-f', '-p', device);
    await run('resize2fs', device);
  }
}

/**
 * Grows a file system that is mounted in this mount namespace. Needs CAP_SYS_RESOURCE (ext4,
 * EXT4_IOC_RESIZE_FS).
 */
export async function growMountedFileSystem(device: string): Promise<void> {
  await run('resize2fs', device);
}

/** CAP_SYS_RESOURCE is bit 24 of the effective set (capabilities(7), proc(5)). */
export async function mayGrowMounted(): Promise<boolean> {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(await readFile('/proc/self/status', 'utf8'))?.[1] ?? '0';
  return ((BigInt(`0x${effective}`) >> 24n) & 1n) === 1n;
}

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
