import { join, resolve } from 'node:path';
import { kubeconfigPath } from './connect.ts';

/**
 * Returns the directory with the logs of the embedded cluster's VMs, or undefined if `kubeconfig` is for
 * another cluster.
 */
export function vmLogDirectory(kubeconfig: string, clusterDirectory: string): string | undefined {
  const isOwn = resolve(kubeconfig) === resolve(kubeconfigPath(clusterDirectory));
  return isOwn ? join(clusterDirectory, 'logs') : undefined;
}
