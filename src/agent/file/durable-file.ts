import { randomUUID } from 'node:crypto';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from './error-code.ts';
import { withPath } from '../../platform/write-file.ts';

/** Returns a name beside `path` for a new entry that will be renamed to `path`. */
export const temporaryPathFor = (path: string): string => `${path}.${randomUUID()}.tmp`;

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
 * file's mode, 0600 by default.
 */
export async function writeDurableFile(path: string, content: string, mode = 0o600): Promise<void> {
  const temporary = temporaryPathFor(path);
  try {
    const file = await open(temporary, 'wx', mode);
    try {
      await file.writeFile(content);
      await file.chmod(mode);
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
