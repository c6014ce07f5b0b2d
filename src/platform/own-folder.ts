import { lstat, mkdir, stat } from 'node:fs/promises';
import { ProductError } from '../errors/product-error.ts';

/**
 * Makes a folder that only this user enters, with the folders above it, or checks one that is there: FILE_NOT_TRUSTED, with the next
 * step, where it is another user's, others can write in it, or (unless it may be) a symbolic link. Who can write in it can
 * replace what is kept there, or run, or locked.
 */
export async function makeOwnFolder(
  folder: string,
  { mayBeLink = false }: { readonly mayBeLink?: boolean } = {},
): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const found = await (mayBeLink ? stat : lstat)(folder);
  const own = process.geteuid?.();
  if (!found.isDirectory()) throw notTrusted(folder, 'is a symbolic link; put a folder in its place');
  if (found.uid !== own)
    throw notTrusted(
      folder,
      `belongs to user ${found.uid}, not to user ${own} who runs this; run as that user`,
    );
  if ((found.mode & 0o022) !== 0)
    throw notTrusted(folder, `can be written by others; run: chmod go-w '${folder}'`);
}

function notTrusted(folder: string, why: string): ProductError {
  return new ProductError('FILE_NOT_TRUSTED', `Folder '${folder}' was not used: it ${why}`);
}
