import { checkOwner } from '../../embedded-cluster/daemon/cluster-state.ts';
import { withInstallationLock } from './hold-lock.ts';
import type { Installation } from './installation.ts';

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
