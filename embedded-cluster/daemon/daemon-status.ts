import { join } from 'node:path';
import { checkOwner } from './check-owner.ts';
import { findProcess, type ProcessRecord } from './process-record.ts';
import { isReady } from './readiness.ts';

export type DaemonStatus =
  | { readonly state: 'stopped' }
  | { readonly state: 'running' | 'not ready'; readonly process: ProcessRecord; readonly kubeconfig: string };

/**
 * Returns whether the cluster of this directory runs and whether its API responds. Rejects if it belongs to
 * another user.
 */
export async function daemonStatus(directory: string): Promise<DaemonStatus> {
  await checkOwner(directory, 'look');
  const process = await findProcess(directory);
  if (process === undefined) {
    return { state: 'stopped' };
  }
  const ready = await isReady(directory);
  return { state: ready ? 'running' : 'not ready', process, kubeconfig: join(directory, 'kubeconfig') };
}
