import { stat } from 'node:fs/promises';
import { ProgramError, run } from './run.ts';

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
