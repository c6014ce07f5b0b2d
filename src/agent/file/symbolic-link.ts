import { mkdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { temporaryPathFor } from './durable-file.ts';
import { errorCode } from './error-code.ts';

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
