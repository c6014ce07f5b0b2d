import type { DeploymentState } from './deployment-state.ts';
import { readPending, type PendingDisk, type PendingVm } from './pending-file.ts';
import { readState } from './state-file.ts';

/** Everything in the cloud that a deployment's files on this machine record. */
export interface KnownResources {
  readonly vmCid?: string;
  /**
   * The agent id of a VM that may exist although its cid was never received. The next run requests it again.
   */
  readonly pendingAgentId?: string;
  readonly diskCids: readonly string[];
  readonly stemcellCids: readonly string[];
  /** Disks that may exist although their cids were never received. The cloud lists them as unclaimed. */
  readonly unconfirmedDisks: readonly PendingDisk[];
}

/**
 * Reads what the state file and the pending file beside it record. Returns undefined if there is no
 * deployment. Changes nothing.
 */
export async function readKnownResources(statePath: string): Promise<KnownResources | undefined> {
  const [state, pending] = await Promise.all([readState(statePath), readPending(statePath)]);
  if (state === undefined) return undefined;
  return {
    ...(state.current_vm_cid === '' ? {} : { vmCid: state.current_vm_cid }),
    ...(pending.vm === undefined || isRecorded(pending.vm, state)
      ? {}
      : { pendingAgentId: pending.vm.agent_id }),
    diskCids: state.disks.map(({ cid }) => cid),
    stemcellCids: state.stemcells.map(({ cid }) => cid),
    unconfirmedDisks: pending.disks,
  };
}

const isRecorded = ({ cid }: PendingVm, { current_vm_cid: recorded }: DeploymentState): boolean =>
  cid !== undefined && cid === recorded;
