import { readFile, truncate, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { makeFileSystem } from '../cluster/csi/devices.ts';
import { ProgramError, run } from '../cluster/csi/run.ts';

/** A block device of the host. */
export interface HostDevice {
  /** The name below /dev, or `none` if the machine has no block device. */
  readonly disk: string;
  readonly major: string;
  readonly minor: string;
  /** Removes what was created for the device. */
  remove(): Promise<void>;
}

/**
 * Returns a new loop device with a file system, whose blocks are in `directory`, because root of a container
 * often may not read the machine's devices. If none can be created, returns the first device that the kernel
 * lists.
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
    // Not every machine has mkfs or loop devices.
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
