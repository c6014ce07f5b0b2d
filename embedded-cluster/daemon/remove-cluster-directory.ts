import { realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isProductError, ProductError } from '../../src/errors/product-error.ts';
import { mountsAtOrBelow, readMountTable } from '../../src/platform/mountinfo.ts';
import { runCommand } from '../node/command.ts';
import { safeRemove } from '../../src/platform/safe-remove.ts';
import { checkOwner } from './cluster-state.ts';
import { checkRequirements } from './check-requirements.ts';
import { findProcess } from './process-record.ts';

/**
 * Removes a stopped cluster with all its data. Idempotent. Rejects if the cluster runs, if anything is
 * mounted in its directory, or if it belongs to another user.
 */
export async function removeClusterDirectory(directory: string): Promise<void> {
  await checkOwner(directory, 'remove');
  let path: string;
  try {
    path = await realpath(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      return;
    }
    throw error;
  }
  if ((await findProcess(path)) !== undefined) {
    throw new ProductError('CLUSTER_STOP', `the cluster in ${path} runs; stop it first`);
  }
  const { userOptions } = await checkRequirements(dirname(path));
  await (userOptions.length === 0 ? removeAsRoot(path) : removeInUserNamespace(path, userOptions));
}

/** Root could remove files below any mount, so the file system of each directory is compared. */
async function removeAsRoot(path: string): Promise<void> {
  try {
    await safeRemove(path);
  } catch (error) {
    if (isProductError(error, 'MOUNT_IN_THE_WAY')) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new ProductError('CLUSTER_STOP', `${path} could not be removed: ${why}`, { cause: error });
  }
}

/**
 * Removes the directory in the cluster's user namespace, because files of its pods may belong to ids that
 * exist only there. rm(1) would follow a bind mount of the same file system.
 */
async function removeInUserNamespace(path: string, userOptions: readonly string[]): Promise<void> {
  const [mounted] = mountsAtOrBelow(await readMountTable(), path);
  if (mounted !== undefined) {
    throw new ProductError('MOUNT_IN_THE_WAY', `${path} is not removed: ${mounted.target} is mounted`);
  }
  const remove = ['rm', '--recursive', '--force', '--one-file-system', '--', path];
  const result = await runCommand('unshare', [...userOptions, '--', ...remove]);
  if (result.exitCode !== 0) {
    throw new ProductError('CLUSTER_STOP', `${path} could not be removed: ${result.stderr.trim()}`);
  }
}
