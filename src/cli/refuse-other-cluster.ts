import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { checkCluster, describeDeployment, hasVmOrDisk } from '../deploy/state/check-cluster.ts';
import { readClusterNote, type ClusterIdentity, type ClusterNote } from '../deploy/state/cluster-note.ts';
import { readKnownResources, type KnownResources } from '../deploy/state/known-resources.ts';
import { pendingPathFor } from '../deploy/state/pending-file.ts';
import { readState } from '../deploy/state/state-file.ts';
import { ProductError } from '../errors/product-error.ts';
import { loadAccess } from '../kubernetes/load-access.ts';
import { identityOfAccess } from './cluster-identity.ts';
import { kubeconfigPath, withKubernetes } from './connect.ts';
import type { EmbeddedCluster } from './embedded-cluster.ts';
import { findVm } from './find-vm.ts';
import { hasAnyDisk } from './has-any-disk.ts';

export interface DestroyTarget extends Pick<EmbeddedCluster, 'isRunning'> {
  readonly directory: string;
}

/**
 * Throws OTHER_CLUSTER when removing the state file would forget a VM and disks that are not on this embedded cluster. Beside
 * a note of its own deployment the cluster need not run: the authority in its kubeconfig is its own. Without one it is asked.
 * Resolves with the note by which an interrupted `destroy` knows its deployment again; undefined where there is none to forget.
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
    // perhaps with another address, since the note was written
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

/** What was asked for and not answered, too: an interrupted run may have made it. */
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
