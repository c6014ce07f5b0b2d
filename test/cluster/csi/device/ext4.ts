import { readFile } from 'node:fs/promises';
import { ProgramError, run } from './run.ts';

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
    if (!(error instanceof ProgramError) || error.code === undefined || error.code >= 4) throw error;
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
