import { join, resolve } from 'node:path';
import { kubeconfigPath } from './connect.ts';

/** The folder with the logs of the embedded cluster's VMs; undefined where `kubeconfig` is of another cluster. */
export function vmLogDirectory(kubeconfig: string, clusterDirectory: string): string | undefined {
  const isOwn = resolve(kubeconfig) === resolve(kubeconfigPath(clusterDirectory));
  return isOwn ? join(clusterDirectory, 'logs') : undefined;
}
