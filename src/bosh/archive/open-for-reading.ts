import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { ProductError } from '../../errors/product-error.ts';

const unreadable: readonly unknown[] = ['ENOENT', 'ENOTDIR', 'EACCES', 'EISDIR', 'ELOOP', 'ENXIO'];

export interface OpenOptions {
  /** The path's last part must not be a symbolic link: others may write to its folder, or made what is in it. */
  readonly noFollow?: boolean;
  /** The digest by which to know the file, where somebody wrote one down: for the error. */
  readonly expected?: string | undefined;
}

/**
 * A regular file opened for reading. FILE_NOT_FOUND names it when it is not there, may not be read, or is a folder, a pipe or a
 * device, of which an open or a read may never end; opening does not wait for one.
 */
export async function openForReading(
  path: string,
  { noFollow = false, expected }: OpenOptions = {},
): Promise<FileHandle> {
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | (noFollow ? constants.O_NOFOLLOW : 0);
  let file: FileHandle;
  try {
    file = await open(path, flags);
  } catch (error) {
    if (noFollow && errorCodeOf(error) === 'ELOOP') throw notRegular(path, 'a symbolic link');
    throw fileNotFound(path, error, expected) ?? error;
  }
  try {
    const found = await file.stat();
    if (found.isFile()) return file;
    throw notRegular(path, found.isDirectory() ? 'a folder (EISDIR)' : 'a pipe, socket or device');
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** The bytes of a regular file, which is opened at the first read: a caller that never reads leaves no file open. */
export async function* readStream(path: string, options: OpenOptions = {}): AsyncGenerator<Uint8Array> {
  await using file = await openForReading(path, options);
  yield* file.createReadStream({ highWaterMark: 1 << 16, autoClose: false }) as AsyncIterable<Uint8Array>;
}

/**
 * The ProductError for an error of node:fs that means the named file cannot be read; undefined for every other error.
 * `expected`: the digest by which to know the file, where somebody wrote one down.
 */
export function fileNotFound(path: string, error: unknown, expected?: string): ProductError | undefined {
  const code = errorCodeOf(error);
  if (!unreadable.includes(code)) return undefined;
  const digest = expected === undefined ? '' : `, expected ${expected}`;
  return new ProductError('FILE_NOT_FOUND', `Cannot read '${path}': ${String(code)}${digest}`, {
    cause: error,
  });
}

function errorCodeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

function notRegular(path: string, what: string): ProductError {
  return new ProductError('FILE_NOT_FOUND', `Cannot read '${path}': it is ${what}, not a regular file`);
}
