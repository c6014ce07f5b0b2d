import { existsSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import product from '../../../package.json' with { type: 'json' };
import {
  daemonStatus,
  removeClusterDirectory,
  startDaemon,
  stopDaemon,
} from '../../../embedded-cluster/index.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { Installation } from '../installation.ts';
import { kubeconfigPath } from './kubeconfig.ts';
import { findPrograms, findStartedVersion, placePrograms, removePrograms } from './place-programs.ts';

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

export function embeddedCluster(installation: Installation): EmbeddedCluster {
  const { clusterDirectory } = installation;
  const stop = async (): Promise<boolean> => (await stopDaemon(clusterDirectory)).stopped;
  return {
    async start(report, { nodes } = { nodes: [] }) {
      const version = await findStartedVersion(installation);
      const { state } = await daemonStatus(clusterDirectory);
      const running = state === 'stopped' ? undefined : findPrograms(installation);
      const programs = running ?? (await placePrograms(installation));
      const info = await startDaemon({ directory: clusterDirectory, ...programs, nodes });
      if (!info.started && nodes.length > 0) {
        throw new ProductError(
          'CLUSTER_START',
          'the cluster is already running; stop it first, because nodes are added at its start',
        );
      }
      if (!info.started && version !== undefined && version !== product.version)
        report(
          `The cluster still runs bosh-kubernetes ${version}; it runs ${product.version} after 'stop' and 'up'`,
        );
      if (info.started) report(`Embedded cluster started; kubeconfig: ${info.kubeconfig}`);
    },
    stop,
    async destroy() {
      await stop();
      await removeClusterDirectory(clusterDirectory);
      await removePrograms(installation);
    },
    async isRunning() {
      return (await daemonStatus(clusterDirectory)).state === 'running';
    },
    async describe() {
      const { state } = await daemonStatus(clusterDirectory);
      const missing = describeMissingCluster(installation);
      if (missing !== undefined) return `T${missing.slice(1)}; 'bosh-kubernetes up' makes one here`;
      const next = {
        stopped: "'bosh-kubernetes up' starts it; ",
        'not ready': "'bosh-kubernetes up' waits for it; ",
        running: '',
      }[state];
      return `Embedded cluster ${state}; ${next}kubeconfig: ${kubeconfigPath(clusterDirectory)}`;
    },
  };
}

/** Rejects with CLUSTER_START, which names the next step, if the embedded cluster does not run. */
export async function assertRunning(installation: Installation): Promise<void> {
  const cluster = embeddedCluster(installation);
  if (!(await cluster.isRunning())) throw new ProductError('CLUSTER_START', await cluster.describe());
}

/**
 * Returns part of a sentence that tells in which other directory the cluster may be; undefined if the
 * cluster of this installation exists.
 */
export function describeMissingCluster({ clusterDirectory }: Installation): string | undefined {
  if (existsSync(clusterDirectory)) return undefined;
  const home = dirname(clusterDirectory);
  let above = dirname(home);
  while (dirname(above) !== above && !existsSync(join(above, basename(home), 'cluster')))
    above = dirname(above);
  const found = existsSync(join(above, basename(home), 'cluster'));
  const where = found ? `'${above}', which has one` : `the directory in which 'up' ran`;
  return `there is no cluster in '${home}': run this in ${where}, or name the cluster's folder with BOSH_KUBERNETES_HOME`;
}

/**
 * Returns the directory with the logs of the embedded cluster's VMs, or undefined if `kubeconfig` is for
 * another cluster.
 */
export function vmLogDirectory(kubeconfig: string, clusterDirectory: string): string | undefined {
  const isOwn = resolve(kubeconfig) === resolve(kubeconfigPath(clusterDirectory));
  return isOwn ? join(clusterDirectory, 'logs') : undefined;
}
