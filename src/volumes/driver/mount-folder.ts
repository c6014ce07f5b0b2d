import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { ensurePrivateDirectory } from '../../platform/own-folder.ts';

/** Others pass through it to mounts that they know, and do not see which there are. */
const mountDirectoryMode = 0o711;

export interface MountDirectory {
  readonly path: string;
  /** For records of volumes: only this user enters it. */
  readonly stateDirectory: string;
}

/**
 * Makes the folder that volumes are mounted in, or takes from one of the old drivers that others can write
 * there. FILE_NOT_TRUSTED where a folder above it is open to others.
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
    // ensurePrivateDirectory makes it, or says what is wrong with it
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
