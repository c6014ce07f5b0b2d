import { closeSync, constants, mkdirSync, openSync, rmdirSync } from 'node:fs';
import { ProductError } from '../../errors/product-error.ts';

/** open(2): the handle needs no read permission, which root may lack on an export with root_squash. */
const O_PATH = 0o10000000;
const flags = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/** An open directory. The handle stays bound to it if its path changes. */
export interface DirectoryHandle {
  readonly descriptor: number;
  /** A path that works only in this process. */
  readonly path: string;
}

/**
 * Calls `use` with the directory at an absolute path. Follows no links: a user who can write to one of the
 * parent directories could redirect root with a link. With `make`, creates missing directories, owned by
 * root. Returns undefined if the directory does not exist.
 */
export function withDirectory<T>(
  path: string,
  use: (directory: DirectoryHandle) => T,
  make = false,
): T | undefined {
  let parent = openDirectory('/');
  try {
    for (const name of path.split('/').filter((part) => part !== '')) {
      const next = openChild(parent, name, path, make);
      if (next === undefined) return undefined;
      closeSync(parent.descriptor);
      parent = next;
    }
    return use(parent);
  } finally {
    closeSync(parent.descriptor);
  }
}

/** Returns the directories of `path` that do not exist, the outermost first. */
export function missingDirectories(path: string): readonly string[] {
  const parts = path.split('/').filter((part) => part !== '');
  const directories = parts.map((_, index) => `/${parts.slice(0, index + 1).join('/')}`);
  const first = directories.findIndex((directory) => withDirectory(directory, () => true) === undefined);
  return first === -1 ? [] : directories.slice(first);
}

/**
 * Removes an empty directory. Does nothing if the path contains a symbolic link, because the app may have
 * created it.
 */
export function removeEmptyDirectory(path: string): void {
  const cut = path.lastIndexOf('/');
  try {
    withDirectory(path.slice(0, cut), (parent) => rmdirSync(`${parent.path}/${path.slice(cut + 1)}`));
  } catch (error) {
    if (!isCode(error, 'ENOENT', 'ENOTEMPTY', 'ENOTDIR', 'VOLUME_MOUNT_INVALID')) throw error;
  }
}

function openChild(
  directory: DirectoryHandle,
  name: string,
  whole: string,
  make: boolean,
): DirectoryHandle | undefined {
  const path = `${directory.path}/${name}`;
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
