import { closeSync, constants, mkdirSync, openSync, rmdirSync } from 'node:fs';
import { ProductError } from '../../errors/product-error.ts';

/** open(2): a handle that needs no right to read, as on an export with root_squash. */
const O_PATH = 0o10000000;
const flags = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** A folder that stays the same one, whatever happens to its path. */
export interface DirectoryHandle {
  readonly descriptor: number;
  /** Names it in this process. */
  readonly path: string;
}

/**
 * Calls `use` with the folder at an absolute path, reached from `/` without a link: who can write on the way
 * could lead root elsewhere by one. With `make`, folders that are missing are made, root's own. Undefined
 * where it is not there.
 */
export function withDirectory<T>(
  path: string,
  use: (folder: DirectoryHandle) => T,
  make = false,
): T | undefined {
  let held = openDirectory('/');
  try {
    for (const name of path.split('/').filter((part) => part !== '')) {
      const next = openChild(held, name, path, make);
      if (next === undefined) return undefined;
      closeSync(held.descriptor);
      held = next;
    }
    return use(held);
  } finally {
    closeSync(held.descriptor);
  }
}

/** Of the folders on the way to `path`, those that are not there, the outermost first. */
export function missingFolders(path: string): readonly string[] {
  const parts = path.split('/').filter((part) => part !== '');
  const folders = parts.map((_, index) => `/${parts.slice(0, index + 1).join('/')}`);
  const first = folders.findIndex((folder) => withDirectory(folder, () => true) === undefined);
  return first === -1 ? [] : folders.slice(first);
}

/** Removes a folder that is empty. What is reached by a link is another one: the app put the link there. */
export function removeEmptyFolder(path: string): void {
  const cut = path.lastIndexOf('/');
  try {
    withDirectory(path.slice(0, cut), (parent) => rmdirSync(`${parent.path}/${path.slice(cut + 1)}`));
  } catch (error) {
    if (!isCode(error, 'ENOENT', 'ENOTEMPTY', 'ENOTDIR', 'VOLUME_MOUNT_INVALID')) throw error;
  }
}

function openChild(
  folder: DirectoryHandle,
  name: string,
  whole: string,
  make: boolean,
): DirectoryHandle | undefined {
  const path = `${folder.path}/${name}`;
  for (;;) {
    try {
      return openDirectory(path);
    } catch (error) {
      if (isCode(error, 'ENOTDIR', 'ELOOP')) throw notADirectoryError(whole, name);
      if (!isCode(error, 'ENOENT')) throw error;
      if (!make) return undefined;
    }
    try {
      mkdirSync(path, 0o755);
    } catch (error) {
      if (!isCode(error, 'EEXIST')) throw error;
    }
  }
}

function openDirectory(path: string): DirectoryHandle {
  const descriptor = openSync(path, flags);
  return { descriptor, path: `/proc/self/fd/${descriptor}` };
}

const isCode = (error: unknown, ...codes: readonly string[]): boolean =>
  error instanceof Error && 'code' in error && codes.includes(String(error.code));

function notADirectoryError(path: string, name: string): ProductError {
  return new ProductError(
    'VOLUME_MOUNT_INVALID',
    `the folder ${path} for a volume cannot be used: '${name}' on the way to it is a link or a file; remove it, or bind the app with another mount`,
  );
}
