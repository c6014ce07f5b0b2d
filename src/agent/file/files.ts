import { randomUUID } from 'node:crypto';
import {
  open,
  readFile,
  rename,
  rm,
  lstat,
  realpath,
  stat,
  mkdir,
  readlink,
  symlink,
} from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from './error-code.ts';
import { withPath } from '../../platform/write-file.ts';
import { openPlainFile } from './directory-handle.ts';

/** Returns a name beside `path` for a new entry that will be renamed to `path`. */
const temporaryPathFor = (path: string): string => `${path}.${randomUUID()}.tmp`;

/**
 * Returns true for names that {@link temporaryPathFor} makes: for the file `name`, or for any file if `name`
 * is absent.
 */
export function isTemporaryName(entry: string, name?: string): boolean {
  const match = /^(.+)\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.tmp$/s.exec(entry);
  return match !== null && (name === undefined || match[1] === name);
}

/**
 * Replaces a file so that after a crash either the old or the new content is there, complete. `mode` is the
 * file's mode, 0600 by default; with a `group`, the file belongs to root and to it.
 */
export async function writeDurableFile(
  path: string,
  content: string,
  mode = 0o600,
  group?: number,
): Promise<void> {
  const temporary = temporaryPathFor(path);
  try {
    const file = await open(temporary, 'wx', mode);
    try {
      await file.writeFile(content);
      await file.chmod(mode);
      if (group !== undefined) await file.chown(0, group);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw withPath(path, error);
  }
  await syncDirectory(dirname(path));
}

/** Makes renames in a directory survive a power loss. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}

/** Returns the text of a file, or undefined if the file does not exist. */
export async function readFileIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Returns true if there is an entry at a path, even a dangling link. */
export async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}

/** Resolves all symbolic links of a path. Returns undefined if the path is not a directory. */
export async function resolveDirectory(path: string): Promise<string | undefined> {
  try {
    const real = await realpath(path);
    return (await stat(real)).isDirectory() ? real : undefined;
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ENOTDIR') return undefined;
    throw error;
  }
}

/** Makes `path` a symbolic link to `target`, and replaces another link in one step. Idempotent. */
export async function replaceLink(target: string, path: string): Promise<void> {
  if ((await readLinkIfPresent(path)) === target) return;
  await mkdir(dirname(path), { recursive: true });
  const temporary = temporaryPathFor(path);
  await symlink(target, temporary);
  try {
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Returns the target of a symbolic link, or undefined if there is no entry or if it is not a link. */
export async function readLinkIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'EINVAL') return undefined;
    throw error;
  }
}

const limit = 10 * 1024;

/** Returns a file's text, of a long one at least the first and the last `length` bytes. */
export async function readEnds(path: string, length: number): Promise<string> {
  await using file = await openPlainFile(path, 'read');
  const { size } = await file.stat();
  const read = async (start: number, count: number): Promise<Buffer> => {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(count), 0, count, start);
    return buffer.subarray(0, bytesRead);
  };
  if (size <= 2 * length) return (await read(0, size)).toString('utf8');
  return Buffer.concat([await read(0, length), await read(size - length, length)]).toString('utf8');
}

/** Returns the end of a program's output file, at most 10 KiB, and if the file was longer. */
export async function outputTail(
  path: string,
): Promise<{ readonly text: string; readonly isTruncated: boolean }> {
  await using file = await openPlainFile(path, 'read');
  const { size } = await file.stat();
  const start = Math.max(0, size - limit);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(limit), 0, limit, start);
  const text = buffer.toString('utf8', 0, bytesRead);
  return start === 0
    ? { text, isTruncated: false }
    : { text: text.slice(text.indexOf('\n') + 1), isTruncated: true };
}
