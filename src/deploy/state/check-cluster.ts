import { ProductError } from '../../errors/product-error.ts';
import {
  clusterNotePathFor,
  describeCluster,
  isSameCluster,
  readClusterNote,
  type ClusterIdentity,
} from './cluster-note.ts';
import { readKnownResources, type KnownResources } from './known-resources.ts';
import { readState } from './state-file.ts';

/**
 * Throws OTHER_CLUSTER if a deployment has a VM or a disk on another cluster than this one, because they
 * would be treated as missing and forgotten here. Passes if no cluster is recorded, as beside a state of the
 * bosh CLI. Changes nothing.
 */
export async function checkCluster(statePath: string, cluster: ClusterIdentity): Promise<void> {
  const note = await readClusterNote(statePath);
  if (note === undefined || isSameCluster(note, cluster)) return;
  const state = await readState(statePath);
  if (state === undefined || state.installation_id !== note.installation_id) return;
  const known = await readKnownResources(statePath);
  if (known === undefined || !(hasVmOrDisk(known) || known.stemcellCids.length > 0)) return;
  throw new ProductError(
    'OTHER_CLUSTER',
    `${describeDeployment(statePath, known)} on ${describeCluster(note)}, and this is ${describeCluster(cluster)}; ` +
      `nothing was changed. ${note.being_destroyed === true ? interrupted : nextSteps(statePath)}`,
  );
}

const interrupted = "A 'destroy' of that cluster was interrupted: run it again";

/** Returns for example `The deployment of 'x-state.json' has VM 'vm-1', disk 'disk-1'`. */
export function describeDeployment(statePath: string, known: KnownResources): string {
  const { vmCid, pendingAgentId, diskCids, stemcellCids, unconfirmedDisks } = known;
  const parts = [
    ...(vmCid === undefined ? [] : [`VM '${vmCid}'`]),
    ...(pendingAgentId === undefined ? [] : [`a VM asked for as agent '${pendingAgentId}'`]),
    ...diskCids.map((cid) => `disk '${cid}'`),
    ...unconfirmedDisks.map(({ id }) => `a disk asked for as '${id}'`),
  ];
  const what = parts.length > 0 ? parts : stemcellCids.map((cid) => `stemcell '${cid}'`);
  return `The deployment of '${statePath}' has ${what.join(', ')}`;
}

/** Returns what an operator can do about a deployment on another cluster. */
export function nextSteps(statePath: string): string {
  return (
    'Go back to that cluster (BOSH_KUBERNETES_HOME names the folder of an embedded one), or deploy another VM here with ' +
    `--state and --vars-store of its own; where that cluster is gone for good, remove '${statePath}' and ` +
    `'${clusterNotePathFor(statePath)}'`
  );
}

/** Returns true if a deployment has, or may have, a VM or a disk. */
export function hasVmOrDisk(known: KnownResources): boolean {
  const { vmCid, pendingAgentId, diskCids, unconfirmedDisks } = known;
  return (vmCid ?? pendingAgentId) !== undefined || diskCids.length + unconfirmedDisks.length > 0;
}
