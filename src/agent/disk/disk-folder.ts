import { lstat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { errorCode } from '../file/error-code.ts';
import { realFolder } from '../file/real-folder.ts';

/** What a disk's path leads to. */
export type DiskFolder =
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 'missing' }
  /** A link, a file or anything else where the disk's folder has to be. */
  | { readonly kind: 'other'; readonly found: string };

/**
 * Looks up the folder of a disk by its hint, `<root of the disk>/store`. What is on a disk was written by the root of
 * another VM, so of links only those before its root count.
 */
export async function resolveDiskDirectory(hint: string): Promise<DiskFolder> {
  const root = await realFolder(dirname(hint));
  if (root === undefined) return { kind: 'missing' };
  const path = join(root, basename(hint));
  try {
    const stats = await lstat(path);
    if (stats.isDirectory()) return { kind: 'folder', path };
    return { kind: 'other', found: stats.isSymbolicLink() ? 'a symbolic link' : 'no folder' };
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return { kind: 'missing' };
    throw error;
  }
}
