import { readFile, truncate, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { makeFileSystem } from '../cluster/csi/device/ext4.ts';
import { ProgramError, run } from '../cluster/csi/device/run.ts';

/** A block device of the host. */
export interface HostDevice {
  /** Below /dev; `none` where the machine has no block device. */
  readonly disk: string;
  readonly major: string;
  readonly minor: string;
  /** Lets go of what was made for it. */
  remove(): Promise<void>;
}

/**
 * One of the test's own with a file system on it, its blocks in `directory`: a container's root is often kept from those of the
 * machine. Where none can be made, the first that the kernel lists.
 */
export async function findHostDevice(directory: string): Promise<HostDevice> {
  const image = join(directory, 'image');
  await writeFile(image, '');
  await truncate(image, 1024 * 1024);
  try {
    await makeFileSystem(image);
    const path = (await run('losetup', '--find', '--show', '--read-only', image)).trim();
    const number = await run('losetup', '--list', '--noheadings', '--output', 'MAJ:MIN', path);
    const [major = '', minor = ''] = number.trim().split(':');
    const remove = async (): Promise<void> => void (await run('losetup', '--detach', path));
    return { disk: basename(path), major, minor, remove };
  } catch (error) {
    // neither mkfs nor a loop device is everywhere
    if (error instanceof ProgramError) return firstListed();
    throw error;
  }
}

async function firstListed(): Promise<HostDevice> {
  const lines = (await readFile('/proc/partitions', 'utf8')).split('\n').slice(2);
  const [major = '', minor = '', , disk = ''] = lines[0]?.trim().split(/\s+/) ?? [];
  const listed = disk === '' ? { disk: 'none', major: '259', minor: '0' } : { disk, major, minor };
  return { ...listed, remove: () => Promise.resolve() };
}
