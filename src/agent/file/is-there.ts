import { lstat } from 'node:fs/promises';
import { errorCode } from './error-code.ts';

/** Returns true if there is an entry at a path, even a dangling link. */
export async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}
