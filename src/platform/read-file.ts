import { constants, type Stats } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { ProductError } from '../errors/product-error.ts';

/** More than any of our own files has. */
const maxBytes = 64 * 1024 * 1024;

export interface OwnFileOptions {
  /** Removes all rights of group and others from the file's mode. */
  readonly tightenMode?: boolean;
}

/**
 * Reads the text of a file that only this user can have written; undefined if it does not exist. Rejects with
 * FILE_NOT_TRUSTED, which has the path and the next step, if it is a symbolic link, not a regular file, or
 * belongs to another user: in a folder that others can write, they may have created it.
 */
export async function readOwnFile(
  path: string,
  { tightenMode = false }: OwnFileOptions = {},
): Promise<string | undefined> {
  return readOpened(path, async (file, found) => {
    if (found.uid !== process.geteuid?.())
      throw notTrusted(
        path,
        `belongs to user ${found.uid}, not to user ${process.geteuid?.()} who runs this; run as that user, or look at it and change its owner`,
      );
    if (tightenMode && (found.mode & 0o077) !== 0) await file.chmod(found.mode & 0o700);
  });
}

/**
 * Reads the text of a regular file of any owner; undefined if it does not exist. Rejects links and special
 * files.
 */
export async function readRegularFile(path: string): Promise<string | undefined> {
  return readOpened(path, async () => undefined);
}

async function readOpened(
  path: string,
  check: (file: FileHandle, found: Stats) => Promise<void>,
): Promise<string | undefined> {
  const file = await openFile(path);
  if (file === undefined) return undefined;
  try {
    const found = await file.stat();
    if (found.isDirectory()) throw isDirectory(path);
    if (!found.isFile()) throw notTrusted(path, `is no regular file; remove it`);
    await check(file, found);
    if (found.size > maxBytes)
      throw notTrusted(path, `has ${found.size} bytes, which no such file has; remove it`);
    return await file.readFile('utf8');
  } finally {
    await file.close();
  }
}

/** Opens without blocking: opening a pipe without a writer would never return. */
async function openFile(path: string): Promise<FileHandle | undefined> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    return await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT') return undefined;
    if (code === 'ELOOP')
      throw notTrusted(path, 'is a symbolic link; remove it, or put the file in its place');
    // a socket, or a device that does not exist
    if (code === 'ENXIO') throw notTrusted(path, 'is no regular file; remove it');
    throw error;
  }
}

/** Returns the error that readFile would throw: callers handle EISDIR. */
function isDirectory(path: string): Error {
  return Object.assign(new Error(`EISDIR: illegal operation on a directory, read '${path}'`), {
    code: 'EISDIR',
  });
}

function notTrusted(path: string, why: string): ProductError {
  return new ProductError('FILE_NOT_TRUSTED', `'${path}' was not read: it ${why}`);
}
