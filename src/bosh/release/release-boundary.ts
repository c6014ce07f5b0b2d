import { existsSync, lstatSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';

/**
 * RELEASE_INVALID where a link leads a path of a release directory out of it, and out of the git repository
 * that it is in: whose release it is would have a file of the operator's packed, or one written. Of a path
 * that is not there what is there of it counts.
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
 * Where the path leads to, if that is out of the release and of the git repository that it is in; of a path
 * that is not there what is there of it counts. RELEASE_INVALID for a link on the way that leads to nothing:
 * who makes its target decides what is written.
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
