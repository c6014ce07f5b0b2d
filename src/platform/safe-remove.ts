import { constants, openSync, closeSync, readFileSync } from 'node:fs';
import { lstat, readdir, rmdir, unlink } from 'node:fs/promises';
import { ProductError } from '../errors/product-error.ts';
import { mountsAtOrBelow, readMountTable } from './mountinfo.ts';

/** Returns the mount id of an open directory: proc(5), fdinfo `mnt_id`. */
function mountId(fd: number): string {
  return /^mnt_id:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1] ?? 'unknown';
}

function openDirectory(path: string | Buffer): number {
  return openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
}

async function emptyDirectory(fd: number, path: string, mount: string): Promise<void> {
  if (mountId(fd) !== mount) {
    throw new ProductError(
      'MOUNT_IN_THE_WAY',
      `${path} is a mount; nothing of it was removed. Unmount it first.`,
    );
  }
  const self = `/proc/self/fd/${fd}`;
  // Names are kept as bytes, because names that are not UTF-8 cannot be decoded and encoded back.
  for (const entry of await readdir(self, { encoding: 'buffer', withFileTypes: true })) {
    const child = Buffer.concat([Buffer.from(`${self}/`), entry.name]);
    if (entry.isDirectory()) {
      const childFd = openDirectory(child);
      try {
        await emptyDirectory(childFd, `${path}/${entry.name.toString()}`, mount);
      } finally {
        closeSync(childFd);
      }
      await rmdir(child);
    } else {
      await unlink(child);
    }
  }
}

/**
 * Removes a directory and all below it. Idempotent: a missing directory is success. Rejects, without changes,
 * while anything is mounted at or below it. Symbolic links are removed, not followed. Each directory is
 * opened through its parent's descriptor and must be on the same mount, so that neither a concurrent mount
 * nor a swapped directory leads elsewhere.
 */
export async function safeRemove(directory: string): Promise<void> {
  const mounts = mountsAtOrBelow(await readMountTable(), directory);
  if (mounts.length > 0) {
    const targets = mounts.map((entry) => entry.target).join(', ');
    throw new ProductError(
      'MOUNT_IN_THE_WAY',
      `${directory} is not removed: still mounted: ${targets}. Unmount that first.`,
    );
  }
  if (!(await exists(directory))) {
    return;
  }
  const fd = openDirectory(directory);
  try {
    await emptyDirectory(fd, directory, mountId(fd));
  } finally {
    closeSync(fd);
  }
  await rmdir(directory);
}

async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return false;
    }
    throw error;
  }
}
