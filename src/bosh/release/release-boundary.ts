import { existsSync, lstatSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';

/**
 * Throws RELEASE_INVALID if a symbolic link in a release directory leads a path out of it and out of its git
 * repository. Otherwise a malicious release could have the operator's files packed or overwritten. For a path
 * that does not exist, its nearest existing parent is checked.
 */
export async function assertInsideRelease(directory: string, path: string): Promise<void> {
  const found = await placeOutside(directory, path);
  if (found === undefined) return;
  throw new ProductError(
    'RELEASE_INVALID',
    `'${path}' leads out of the release, to '${found}', by a symbolic link; put a copy in its place`,
  );
}

/**
 * Returns the real path if it is outside of the release and of its git repository. For a path that does not
 * exist, its nearest existing parent is checked. Throws RELEASE_INVALID for a dangling link in the path,
 * because its target decides what is written.
 */
export async function placeOutside(directory: string, path: string): Promise<string | undefined> {
  const boundary = await releaseRoot(directory);
  const found = await realpathOfExisting(path);
  return found === boundary || found.startsWith(join(boundary, '/')) ? undefined : found;
}

async function releaseRoot(directory: string): Promise<string> {
  const own = await realpath(directory);
  for (let at = own; at !== dirname(at); at = dirname(at)) if (existsSync(join(at, '.git'))) return at;
  return own;
}

async function realpathOfExisting(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true)
      throw new ProductError(
        'RELEASE_INVALID',
        `'${path}' is a symbolic link that leads to nothing; make what it points to, or remove it`,
      );
    return realpathOfExisting(dirname(path));
  }
}
