import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';

/**
 * RELEASE_INVALID where a link leads a path of a release directory out of it, and out of the git repository
 * that it is in: whose release it is would have a file of the operator's packed, or one written. Of a path
 * that is not there what is there of it counts.
 */
export async function requireInside(directory: string, path: string): Promise<void> {
  const boundary = await boundaryOf(directory);
  const found = await realpathOfExisting(path);
  if (found === boundary || found.startsWith(join(boundary, '/'))) return;
  throw new ProductError(
    'RELEASE_INVALID',
    `'${path}' leads out of the release, to '${found}', by a symbolic link; put a copy in its place`,
  );
}

async function boundaryOf(directory: string): Promise<string> {
  const own = await realpath(directory);
  for (let at = own; at !== dirname(at); at = dirname(at)) if (existsSync(join(at, '.git'))) return at;
  return own;
}

async function realpathOfExisting(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    return realpathOfExisting(dirname(path));
  }
}
