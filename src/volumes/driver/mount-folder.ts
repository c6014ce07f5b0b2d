import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { ensurePrivateDirectory } from '../../platform/private-directory.ts';

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
export async function makeMountFolder(path: string): Promise<MountDirectory> {
  await restrictMode(path);
  const own = await ensurePrivateDirectory(path);
  await restrictMode(own);
  return { path: own, stateDirectory: await ensurePrivateDirectory(join(own, '.state')) };
}

async function restrictMode(path: string): Promise<void> {
  const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
  const folder = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch((error: unknown) => {
    // ensurePrivateDirectory creates it, or reports the error
    if (error instanceof Error && 'code' in error && typeof error.code === 'string') return undefined;
    throw error;
  });
  if (folder === undefined) return;
  try {
    if ((await folder.stat()).uid === process.geteuid?.()) await folder.chmod(mountDirectoryMode);
  } finally {
    await folder.close();
  }
}
