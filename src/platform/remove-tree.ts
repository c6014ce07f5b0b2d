import { realpath, rm } from 'node:fs/promises';
import { dirname, resolve, sep } from 'node:path';
import { ProductError } from '../errors/product-error.ts';

/**
 * Removes a file, or a folder with its contents. A missing path is success. Rejects with PATH_OUTSIDE,
 * without changes, if the path is not below `within`, by its text or by the links in it. A link itself is
 * removed, never its target.
 */
export async function removeTree(path: string, { within }: { readonly within: string }): Promise<void> {
  const [target, directory] = [resolve(path), resolve(within)];
  if (!isBelow(target, directory)) throw outside(path, within);
  const [parent, realDirectory] = await Promise.all([realPath(dirname(target)), realPath(directory)]);
  if (parent === undefined || realDirectory === undefined) return;
  if (parent !== realDirectory && !isBelow(parent, realDirectory)) throw outside(path, within);
  await rm(target, { recursive: true, force: true });
}

function isBelow(path: string, directory: string): boolean {
  return path !== directory && path.startsWith(directory.endsWith(sep) ? directory : `${directory}${sep}`);
}

async function realPath(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function outside(path: string, within: string): ProductError {
  return new ProductError(
    'PATH_OUTSIDE',
    `'${path}' does not lie in '${within}', for which it is meant, or a link on the way leads out of it; nothing of it was removed. ` +
      'Check the name in this path, and the links in that folder',
  );
}
