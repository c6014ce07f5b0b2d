import { mkdir, rmdir } from 'node:fs/promises';
import { MountError } from '../mount/mount-error.ts';

/**
 * Makes the empty folder that a share is mounted at. What is there must be an empty folder, too: `rmdir`
 * looks at the entry only, and not at a mount on it.
 */
export async function createMountPoint(target: string): Promise<void> {
  await removeMountPoint(target);
  await mkdir(target, { mode: 0o700 });
}

/** Removes it after the unmount, if it is there. MountError BUSY if it is not empty. */
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
