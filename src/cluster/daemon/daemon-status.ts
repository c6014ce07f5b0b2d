import { join } from 'node:path';
import { findProcess, type ProcessRecord } from './process-record.ts';
import { isReady } from './readiness.ts';

export type DaemonStatus =
  | { readonly state: 'stopped' }
  | { readonly state: 'running' | 'not ready'; readonly process: ProcessRecord; readonly kubeconfig: string };

/** Whether the cluster of that directory runs and whether its API answers. */
export async function daemonStatus(directory: string): Promise<DaemonStatus> {
  const process = await findProcess(directory);
  if (process === undefined) {
    return { state: 'stopped' };
  }
  const ready = await isReady(directory);
  return { state: ready ? 'running' : 'not ready', process, kubeconfig: join(directory, 'kubeconfig') };
}
