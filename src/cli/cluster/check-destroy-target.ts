import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { DeploymentFiles } from '../../deploy/state/deployment-files.ts';
import type { KnownResources } from '../../deploy/state/known-resources.ts';
import type { ClusterIdentity, RecordedCluster } from '../../deploy/state/recorded-cluster.ts';
import { ProductError } from '../../errors/product-error.ts';
import { loadAccess } from '../../kubernetes/access/kubeconfig-access.ts';
import { identityOfAccess, kubeconfigPath, withKubernetes } from './kubeconfig.ts';
import type { EmbeddedCluster } from './embedded-cluster.ts';
import { findVm, hasAnyDisk } from './find-resources.ts';
import { findRemovedCluster } from './removed-cluster.ts';

export interface DestroyTarget extends Pick<EmbeddedCluster, 'isRunning'> {
  readonly directory: string;
  /** The cluster is removed with all that it has, and may be damaged. */
  readonly all: boolean;
}

/**
 * Throws OTHER_CLUSTER if removing the state file would forget a VM and disks that are not on this embedded
 * cluster. If a cluster is recorded for this deployment, compares its CA with the kubeconfig's; the cluster
 * need not run. With `all`, a record of this cluster's kubeconfig is enough. Otherwise queries the cluster.
 * Returns the record by which the next run recognises the deployment after an interrupted `destroy`, or
 * undefined if the state file names no VM and no disk.
 */
export async function assertDestroysOwnCluster(
  files: DeploymentFiles,
  cluster: DestroyTarget,
  onSecrets: (secrets: readonly string[]) => void,
): Promise<RecordedCluster | undefined> {
  const state = await files.readState();
  if (state === undefined) return undefined;
  const { installation_id } = state;
  const recorded = await files.readCluster();
  const kubeconfig = resolve(kubeconfigPath(cluster.directory));
  if (recorded?.installation_id === installation_id) {
    const isKnown = recorded.being_destroyed === true || cluster.all;
    if (isKnown && recorded.kubeconfig === kubeconfig) return { ...recorded, being_destroyed: true };
    if ((await findRemovedCluster(files, cluster.directory)) === 'removed')
      return { ...recorded, being_destroyed: true };
    const here = await identifyEmbeddedCluster(cluster.directory);
    if (!hasSameCa(here, recorded)) await files.assertOnCluster(here);
    return { ...recorded, kubeconfig, being_destroyed: true };
  }
  const known = await files.readKnownResources();
  if (known?.hasVmOrDisk !== true) return undefined;
  const isRunning = await cluster.isRunning();
  const here = await identifyEmbeddedCluster(cluster.directory);
  if (here === undefined || !isRunning || !(await hasAny(kubeconfig, known, onSecrets)))
    throw clusterOfUnrecordedState(files, known, { ...cluster, isRunning });
  return { installation_id, ...here, being_destroyed: true };
}

/**
 * Returns true if the embedded cluster is recorded as the cluster of the deployment. The cluster need
 * not run or exist.
 */
export async function isOnEmbeddedCluster(
  files: DeploymentFiles,
  clusterDirectory: string,
): Promise<boolean> {
  const recorded = await files.readCluster();
  return recorded !== undefined && hasSameCa(await identifyEmbeddedCluster(clusterDirectory), recorded);
}

/** The address of the API server may have changed since the record was written, but the CA has not. */
const hasSameCa = (here: ClusterIdentity | undefined, recorded: RecordedCluster): boolean =>
  here?.ca_sha256 !== undefined && here.ca_sha256 === recorded.ca_sha256;

/** Identifies the embedded cluster, running or stopped. Returns undefined if it does not exist. */
export async function identifyEmbeddedCluster(
  clusterDirectory: string,
): Promise<ClusterIdentity | undefined> {
  const kubeconfig = resolve(kubeconfigPath(clusterDirectory));
  if (!existsSync(kubeconfig)) return undefined;
  return identityOfAccess(await loadAccess(await readFile(kubeconfig, 'utf8')), kubeconfig);
}

/**
 * Returns true if the cluster has one of the resources, including those whose creation was requested but not
 * confirmed: an interrupted run may have created them.
 */
function hasAny(
  kubeconfig: string,
  known: KnownResources,
  onSecrets: (secrets: readonly string[]) => void,
): Promise<boolean> {
  const { vmCid, pendingAgentId, diskCids, unconfirmedDisks } = known;
  const pending = pendingAgentId === undefined ? undefined : `vm-${pendingAgentId}`;
  return withKubernetes(
    kubeconfig,
    async (api, { namespace }) => {
      for (const cid of [vmCid, pending])
        if (cid !== undefined && (await findVm(api, namespace, cid)) === 'here') return true;
      if (diskCids.length + unconfirmedDisks.length === 0) return false;
      return hasAnyDisk(api, namespace, diskCids, unconfirmedDisks);
    },
    { onSecrets },
  );
}

function clusterOfUnrecordedState(
  { paths }: DeploymentFiles,
  known: KnownResources,
  { directory, isRunning }: { readonly directory: string; readonly isRunning: boolean },
): ProductError {
  const elsewhere = `'delete-env' with the flags of its create-env deletes it from its own cluster`;
  const files = `if that cluster no longer exists, remove ${paths.map((path) => `'${path}'`).join(', ')}`;
  return new ProductError(
    'OTHER_CLUSTER',
    `${known.describe()}, but nothing ` +
      (isRunning
        ? `of it is on the embedded cluster in '${directory}'; nothing was changed. ${elsewhere}; ${files}`
        : `shows that it is on the embedded cluster in '${directory}'; nothing was changed. If it is on that cluster, start it with ` +
          `'cluster start' and run 'destroy' again; ${elsewhere}; ${files}`),
  );
}
