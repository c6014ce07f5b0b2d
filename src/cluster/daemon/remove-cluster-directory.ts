import { realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import { mountsAtOrBelow, readMountTable } from '../node/mounts/mount-table.ts';
import { runCommand } from '../node/command.ts';
import { checkRequirements } from './check-requirements.ts';
import { findProcess } from './process-record.ts';

/**
 * Removes a stopped cluster with all its data. Idempotent. Refuses while it runs or while anything is mounted in it.
 * Works in the cluster's user namespace, because files of its pods may belong to ids that only exist there.
 */
export async function removeClusterDirectory(directory: string): Promise<void> {
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
  const [mounted] = mountsAtOrBelow(await readMountTable(), path);
  if (mounted !== undefined) {
    throw new ProductError('MOUNT_IN_THE_WAY', `${path} is not removed: ${mounted.target} is mounted`);
  }
  const { userOptions } = await checkRequirements(dirname(path));
  const remove = ['rm', '--recursive', '--force', '--one-file-system', '--', path];
  const [program = '', ...args] =
    userOptions.length === 0 ? remove : ['unshare', ...userOptions, '--', ...remove];
  const result = await runCommand(program, args);
  if (result.exitCode !== 0) {
    throw new ProductError('CLUSTER_STOP', `${path} could not be removed: ${result.stderr.trim()}`);
  }
}
