import { constants, type Stats } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { ProductError } from '../errors/product-error.ts';

/** More than any of our own files has; what is larger is not one. */
const maxBytes = 64 * 1024 * 1024;

export interface OwnFileOptions {
  /** Take from the file's mode what gives group and others any right. */
  readonly tightenMode?: boolean;
}

/**
 * The text of a file that only this user can have written; undefined when there is none. FILE_NOT_TRUSTED, with the path and the
 * next step, where it is a symbolic link, no regular file, or another user's: in a folder that others can write, they put it there.
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

/** The text of a file of any owner, no link and no special file; undefined when there is none. */
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

/** Non-blocking: of a pipe that nobody writes an open would never return. */
async function openFile(path: string): Promise<FileHandle | undefined> {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  try {
    return await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT') return undefined;
    if (code === 'ELOOP')
      throw notTrusted(path, 'is a symbolic link; remove it, or put the file in its place');
    // a socket, or a device that is not there
    if (code === 'ENXIO') throw notTrusted(path, 'is no regular file; remove it');
    throw error;
  }
}

/** As readFile would say it: callers know EISDIR. */
function isDirectory(path: string): Error {
  return Object.assign(new Error(`EISDIR: illegal operation on a directory, read '${path}'`), {
    code: 'EISDIR',
  });
}

function notTrusted(path: string, why: string): ProductError {
  return new ProductError('FILE_NOT_TRUSTED', `'${path}' was not read: it ${why}`);
}
