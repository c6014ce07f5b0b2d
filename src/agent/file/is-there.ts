import { lstat } from 'node:fs/promises';
import { errorCode } from './error-code.ts';

/** Whether there is an entry at a path, a link that leads nowhere included. */
export async function isThere(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}
