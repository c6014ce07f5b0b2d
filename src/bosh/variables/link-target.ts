import { lstat, readlink, realpath, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';

/** As many as Linux follows. */
const maxLinks = 40;

/**
 * The file that a path names, however many symbolic links lie between, also when that file is not there yet; the path itself
 * where it is no link. For files that are replaced as a whole: renamed over a link, the new text would leave the old file
 * behind. Links that go round resolve with the path, and reading it fails. FILE_NOT_TRUSTED for a link that another user put into a
 * folder that is not theirs: it would have us read, write or remove a file of their choice.
 */
export async function resolveLinks(path: string): Promise<string> {
  let at = path;
  for (let links = 0; links <= maxLinks; links += 1) {
    const next = await readLink(at);
    if (next === undefined) return at;
    await assertTrustedLink(at);
    at = resolve(await realpath(dirname(at)), next);
  }
  return path;
}

/** As the kernel's protected_symlinks has it for /tmp: followed where it is the user's own, the folder owner's or root's. */
async function assertTrustedLink(link: string): Promise<void> {
  const [{ uid }, folder] = await Promise.all([lstat(link), stat(dirname(link))]);
  if ([process.geteuid?.(), folder.uid, 0].includes(uid)) return;
  throw new ProductError(
    'FILE_NOT_TRUSTED',
    `'${link}' is a symbolic link that user ${uid} put there, and was not followed; remove it, or name the file itself`,
  );
}

async function readLink(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    // EINVAL: something else than a link
    if (['EINVAL', 'ENOENT', 'ENOTDIR', 'ELOOP'].includes(String(code))) return undefined;
    throw error;
  }
}
