import { mkdir, rmdir } from 'node:fs/promises';
import { MountError } from '../mount/mount-error.ts';

/**
 * Creates the empty directory at which a share is mounted. An existing entry must be an empty directory:
 * `rmdir` checks only the entry, and not a mount on it.
 */
export async function createMountPoint(target: string): Promise<void> {
  await removeMountPoint(target);
  await mkdir(target, { mode: 0o700 });
}

/** Removes the directory after the unmount, if it exists. Throws MountError BUSY if it is not empty. */
export async function removeMountPoint(target: string): Promise<void> {
  try {
    await rmdir(target);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT') return;
    if (code !== 'ENOTEMPTY' && code !== 'ENOTDIR') throw error;
    throw new MountError(
      'BUSY',
      `'${target}' has files of this machine where the share is mounted; on the cell, look at them and move them away`,
      { cause: error },
    );
  }
}
