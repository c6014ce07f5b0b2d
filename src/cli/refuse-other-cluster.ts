import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { checkCluster, describeDeployment, hasVmOrDisk } from '../deploy/state/check-cluster.ts';
import { readClusterNote, type ClusterIdentity, type ClusterNote } from '../deploy/state/cluster-note.ts';
import { readKnownResources, type KnownResources } from '../deploy/state/known-resources.ts';
import { pendingPathFor } from '../deploy/state/pending-file.ts';
import { readState } from '../deploy/state/state-file.ts';
import { ProductError } from '../errors/product-error.ts';
import { loadAccess } from '../kubernetes/access/kubeconfig-access.ts';
import { identityOfAccess } from './cluster-identity.ts';
import { kubeconfigPath, withKubernetes } from './connect.ts';
import type { EmbeddedCluster } from './embedded-cluster.ts';
import { findVm } from './find-vm.ts';
import { hasAnyDisk } from './has-any-disk.ts';

export interface DestroyTarget extends Pick<EmbeddedCluster, 'isRunning'> {
  readonly directory: string;
}

/**
 * Throws OTHER_CLUSTER if removing the state file would forget a VM and disks that are not on this embedded
 * cluster. If a cluster note for this deployment exists, compares its CA with the kubeconfig's; the cluster
 * need not run. Otherwise queries the cluster. Returns the note by which the next run recognises the
 * deployment after an interrupted `destroy`, or undefined if there are no resources to forget.
 */
export async function assertDestroysOwnCluster(
  statePath: string,
  cluster: DestroyTarget,
  onSecrets: (secrets: readonly string[]) => void,
): Promise<ClusterNote | undefined> {
  const state = await readState(statePath);
  if (state === undefined) return undefined;
  const { installation_id } = state;
  const note = await readClusterNote(statePath);
  const here = await identityIn(cluster.directory);
  const { kubeconfig } = here;
  if (note?.installation_id === installation_id) {
    if (note.being_destroyed === true && note.kubeconfig === kubeconfig) return note;
    // The address may have changed since the note was written, but the CA has not.
    const isOwn = here.ca_sha256 !== undefined && here.ca_sha256 === note.ca_sha256;
    if (!isOwn) await checkCluster(statePath, here);
    return { ...note, kubeconfig, being_destroyed: true };
  }
  const known = await readKnownResources(statePath);
  if (known === undefined || !hasVmOrDisk(known)) return undefined;
  const isRunning = await cluster.isRunning();
  if (!isRunning || !(await hasAny(kubeconfig, known, onSecrets)))
    throw clusterOfUnrecordedState(statePath, known, { ...cluster, isRunning });
  return { installation_id, ...here, being_destroyed: true };
}

async function identityIn(clusterDirectory: string): Promise<ClusterIdentity> {
  const kubeconfig = resolve(kubeconfigPath(clusterDirectory));
  if (!existsSync(kubeconfig)) return { server: 'no cluster at all', kubeconfig };
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
  statePath: string,
  known: KnownResources,
  { directory, isRunning }: { readonly directory: string; readonly isRunning: boolean },
): ProductError {
  const elsewhere = `'delete-env' deletes it where it is, with the flags of its create-env`;
  const files = `where that cluster is gone for good, remove '${statePath}' and '${pendingPathFor(statePath)}'`;
  return new ProductError(
    'OTHER_CLUSTER',
    `${describeDeployment(statePath, known)}, and nothing ` +
      (isRunning
        ? `of that is on the embedded cluster in '${directory}'; nothing was changed. ${elsewhere}; ${files}`
        : `tells that it is on the embedded cluster in '${directory}'; nothing was changed. Where it is on that, 'cluster start' ` +
          `it and run 'destroy' again; ${elsewhere}; ${files}`),
  );
}
