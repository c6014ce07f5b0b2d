import { constants } from 'node:fs';
import { access, mkdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { checkOwner } from '../../../embedded-cluster/index.ts';
import { acquireLock } from '../../deploy/lock.ts';
import { ProductError } from '../../errors/product-error.ts';
import { systemClock } from '../../platform/clock.ts';
import type { Installation } from '../installation.ts';

/**
 * Runs `action` with the lock of this installation. Rejects with DEPLOYMENT_LOCKED at once, naming the
 * process, if another command has the lock; the lock is released if its process dies. Rejects with
 * HOME_NOT_WRITABLE if the directory cannot be written.
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

/**
 * Returns the directory of the lock for that path. `destroy` removes this directory last, while it still has
 * the lock.
 */
export const locksDirectory = (path: string): string => join(dirname(path), 'locks');

async function makeHome(home: string): Promise<void> {
  try {
    await makeDirectory(home);
    await access(home, constants.W_OK);
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw new ProductError(
      'HOME_NOT_WRITABLE',
      `Folder '${home}', which contains the cluster and its lock, cannot be written; name another folder with BOSH_KUBERNETES_HOME`,
      { cause: error },
    );
  }
}

/**
 * Creates the directory and its parents. Node's recursive mkdir loops forever if the system reports ENOENT
 * for an existing directory (/proc).
 */
async function makeDirectory(path: string): Promise<void> {
  if (await isDirectory(path)) return;
  if (dirname(path) !== path) await makeDirectory(dirname(path));
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    // Another command created it in the meantime.
    if (!(await isDirectory(path))) throw error;
  }
}

async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() === true;
}

/**
 * Calls `withInstallationLock` for a command that starts or stops this installation's cluster. Checks first
 * that no other user owns the cluster, because the lock is a file.
 */
export async function withClusterLock<T>(
  { clusterDirectory, lockPath }: Installation,
  wish: 'start' | 'stop',
  action: () => Promise<T>,
): Promise<T> {
  await checkOwner(clusterDirectory, wish);
  return withInstallationLock(lockPath, action);
}
