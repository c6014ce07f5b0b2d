import { lstat, readlink, realpath, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { ProductError } from '../errors/product-error.ts';

/** The limit of Linux. */
const maxLinks = 40;

/**
 * Resolves all symbolic links of a path, even if the target does not exist yet. Returns the path itself if it
 * is not a link. Use it for files that are replaced as a whole, because a rename over a link would leave the
 * old target unchanged. Returns the path for a cycle of links; reading it will fail. Throws FILE_NOT_TRUSTED
 * for a link that another user created in a directory that is not theirs, because it could make us read,
 * write or remove a file of their choice.
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

/**
 * Throws unless the link belongs to this user, to the owner of its directory or to root. The kernel's
 * protected_symlinks has a similar rule for /tmp.
 */
async function assertTrustedLink(link: string): Promise<void> {
  const [{ uid }, directory] = await Promise.all([lstat(link), stat(dirname(link))]);
  if ([process.geteuid?.(), directory.uid, 0].includes(uid)) return;
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
    // EINVAL: the path is not a link.
    if (['EINVAL', 'ENOENT', 'ENOTDIR', 'ELOOP'].includes(String(code))) return undefined;
    throw error;
  }
}
