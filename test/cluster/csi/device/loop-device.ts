import { stat } from 'node:fs/promises';
import { ProgramError, run } from './run.ts';

/** A loop device that has a file behind it. */
export interface LoopDevice {
  /** `/dev/loop3`. */
  readonly path: string;
  /** `7:3`, as mountinfo names it. */
  readonly number: string;
  /** Inode of the file behind it: it stays the same when the file's name goes to another. */
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

/** The machine's loop devices whose file is on the file system of device number `fileSystem` (stat's `dev`). */
async function listDevices(fileSystem: number): Promise<LoopDevice[]> {
  const text = await run('losetup', '--list', '--json', '--output', 'NAME,MAJ:MIN,BACK-INO,BACK-MAJ:MIN');
  // without any device it prints nothing at all
  if (text.trim() === '') return [];
  return (JSON.parse(text) as Listing).loopdevices.flatMap((device) => {
    const inode = device['back-ino'];
    if (inode === null || device['back-maj:min']?.trim() !== numberOf(fileSystem)) return [];
    return [{ path: device.name, number: device['maj:min'].trim(), inode }];
  });
}

/** `major:minor` of stat's `dev` (glibc's gnu_dev_major: 12 bits of major, 20 of minor on a local disk). */
function numberOf(dev: number): string {
  const value = BigInt(dev);
  const major = ((value >> 8n) & 0xfffn) | ((value >> 32n) & ~0xfffn);
  const minor = (value & 0xffn) | ((value >> 12n) & ~0xffn);
  return `${major}:${minor}`;
}

/** The loop devices that stand on this file, whatever it is called meanwhile. */
export async function devicesOf(file: string): Promise<LoopDevice[]> {
  const { dev, ino } = await stat(file);
  return (await listDevices(dev)).filter(({ inode }) => inode === ino);
}

/** The loop device of that number (`7:3`) if its file is on the file system of `directory`. */
export async function deviceOfNumber(number: string, directory: string): Promise<LoopDevice | undefined> {
  const { dev } = await stat(directory);
  return (await listDevices(dev)).find((device) => device.number === number);
}

/** The one loop device of a file; made where there is none. Two would be two file systems over the same blocks. */
export async function attach(file: string): Promise<LoopDevice> {
  for (let tries = 0; tries < 10; tries += 1) {
    const [device, second] = await devicesOf(file);
    if (device !== undefined) {
      if (second === undefined) return device;
      throw new Error(`${file} is behind ${device.path} and ${second.path}`);
    }
    await run('losetup', '--find', '--nooverlap', file).catch((error: unknown) => {
      // another node took the free device between losetup's look and its grasp
      if (!(error instanceof ProgramError) || !/busy|failed to set up loop device/i.test(error.stderr))
        throw error;
    });
  }
  throw new Error(`${file} gets no loop device: losetup finds none that is free`);
}

/** Lets go of the device; as long as something has it mounted the kernel keeps it, and that is no error. */
export async function detach(device: LoopDevice): Promise<void> {
  await run('losetup', '--detach', device.path).catch((error: unknown) => {
    if (!(error instanceof ProgramError) || !/no such device/i.test(error.stderr)) throw error;
  });
}

/** Tells the device that its file has another size. */
export async function readSize(device: LoopDevice): Promise<void> {
  await run('losetup', '--set-capacity', device.path);
}
