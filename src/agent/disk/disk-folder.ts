import { lstat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { errorCode } from '../file/error-code.ts';
import { realFolder } from '../file/real-folder.ts';

/** The result of looking up the directory of a disk. */
export type DiskFolder =
  | { readonly kind: 'folder'; readonly path: string }
  | { readonly kind: 'missing' }
  /** A link, a file or anything else instead of the disk's directory. */
  | { readonly kind: 'other'; readonly found: string };

/**
 * Looks up the directory of a disk by its hint, `<root of the disk>/store`. The content of a disk is
 * untrusted, because root of another VM may have written it. So links are followed only up to the disk's
 * root.
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
