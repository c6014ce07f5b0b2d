import {
  builtCluster,
  daemonStatus,
  removeClusterDirectory,
  startDaemon,
  stopDaemon,
} from '../../../embedded-cluster/index.ts';
import { ProductError } from '../../errors/product-error.ts';
import { kubeconfigPath } from './kubeconfig.ts';
import type { Installation } from '../installation.ts';
import { join, resolve } from 'node:path';

export interface StartOptions {
  /** Each is `NAME` or `NAME=ZONE`. */
  readonly nodes: readonly string[];
}

/** The embedded cluster of one installation. Every method is idempotent. */
export interface EmbeddedCluster {
  /** Resolves when the API server responds. */
  start(report: (line: string) => void, options?: StartOptions): Promise<void>;
  /** Stops all processes and mounts. Returns true if the cluster was running. */
  stop(): Promise<boolean>;
  /** Stops the cluster and removes all its data, including disks. */
  destroy(): Promise<void>;
  isRunning(): Promise<boolean>;
  /** Returns one sentence. */
  describe(): Promise<string>;
}

export function embeddedCluster({
  clusterDirectory,
  runtimeDirectory,
  nodeBinary,
  root,
}: Installation): EmbeddedCluster {
  const stop = async (): Promise<boolean> => (await stopDaemon(clusterDirectory)).stopped;
  return {
    async start(report, { nodes } = { nodes: [] }) {
      const main = builtCluster(root);
      const info = await startDaemon({
        ...{ directory: clusterDirectory, runtimeDirectory, nodeBinary, main, nodes },
      });
      if (!info.started && nodes.length > 0) {
        throw new ProductError(
          'CLUSTER_START',
          'the cluster is already running; stop it first, because nodes are added at its start',
        );
      }
      if (info.started) report(`Embedded cluster started; kubeconfig: ${info.kubeconfig}`);
    },
    stop,
    async destroy() {
      await stop();
      await removeClusterDirectory(clusterDirectory);
    },
    async isRunning() {
      return (await daemonStatus(clusterDirectory)).state === 'running';
    },
    async describe() {
      const { state } = await daemonStatus(clusterDirectory);
      return `Embedded cluster ${state}; kubeconfig: ${kubeconfigPath(clusterDirectory)}`;
    },
  };
}

/**
 * Returns the directory with the logs of the embedded cluster's VMs, or undefined if `kubeconfig` is for
 * another cluster.
 */
export function vmLogDirectory(kubeconfig: string, clusterDirectory: string): string | undefined {
  const isOwn = resolve(kubeconfig) === resolve(kubeconfigPath(clusterDirectory));
  return isOwn ? join(clusterDirectory, 'logs') : undefined;
}
