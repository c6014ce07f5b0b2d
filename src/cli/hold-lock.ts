import { constants } from 'node:fs';
import { access, mkdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { systemClock } from '../deploy/clock.ts';
import { acquireLock } from '../deploy/lock.ts';
import { ProductError } from '../errors/product-error.ts';

/**
 * Runs `action` while holding the lock of this installation. Rejects at once with DEPLOYMENT_LOCKED, naming the holder,
 * while another command holds it; a holder that was killed holds nothing. HOME_NOT_WRITABLE where there is no place for it.
 */
export async function withInstallationLock<T>(path: string, action: () => Promise<T>): Promise<T> {
  await makeHome(dirname(path));
  const lock = await acquireLock(path, { clock: systemClock, locks: locksDirectory(path) });
  try {
    return await action();
  } finally {
    await lock.release();
  }
}

/** Where the lock of that path is held; who removes all else removes it as the last, still holding the lock. */
export const locksDirectory = (path: string): string => join(dirname(path), 'locks');

async function makeHome(home: string): Promise<void> {
  try {
    await makeFolder(home);
    await access(home, constants.W_OK);
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw new ProductError(
      'HOME_NOT_WRITABLE',
      `Folder '${home}', which keeps the cluster and its lock, cannot be written; let BOSH_KUBERNETES_HOME name another`,
      { cause: error },
    );
  }
}

/** Node's own recursive mkdir goes round for ever where the system says of a folder that is there that it is not (/proc). */
async function makeFolder(path: string): Promise<void> {
  if (await isFolder(path)) return;
  if (dirname(path) !== path) await makeFolder(dirname(path));
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    // another command was faster
    if (!(await isFolder(path))) throw error;
  }
}

async function isFolder(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}
