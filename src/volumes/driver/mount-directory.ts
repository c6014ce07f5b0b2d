import { constants } from 'node:fs';
import { mkdir, open, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ensurePrivateDirectory } from '../../platform/private-directory.ts';
import { MountError } from './mount/mount-error.ts';

/** Other users can enter a mount whose name they know, but cannot list the names. */
const mountDirectoryMode = 0o711;

export interface MountDirectory {
  readonly path: string;
  /** The directory of the records of volumes. Only this user can enter it. */
  readonly stateDirectory: string;
}

/**
 * Creates the directory for mounts. Corrects the mode of an existing one, which others can write to if an old
 * driver made it. Rejects with FILE_NOT_TRUSTED if others can write to a directory above it.
 */
export async function makeMountDirectory(path: string): Promise<MountDirectory> {
  await restrictMode(path);
  const own = await ensurePrivateDirectory(path);
  await restrictMode(own);
  return { path: own, stateDirectory: await ensurePrivateDirectory(join(own, '.state')) };
}

async function restrictMode(path: string): Promise<void> {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  const directory = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch((error: unknown) => {
    // ensurePrivateDirectory creates it, or reports the error
    if (error instanceof Error && 'code' in error && typeof error.code === 'string') return undefined;
    throw error;
  });
  if (directory === undefined) return;
  try {
    if ((await directory.stat()).uid === process.geteuid?.()) await directory.chmod(mountDirectoryMode);
  } finally {
    await directory.close();
  }
}

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
      `'${target}' is not mounted but was not removed, because it has local files; move these files to another folder of the cell`,
      { cause: error },
    );
  }
}
