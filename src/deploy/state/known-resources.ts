import type { DeploymentState } from './deployment-state.ts';
import type { Pending, PendingDisk } from './pending-file.ts';

/** Everything in the cloud that a deployment's files on this machine record. */
export class KnownResources {
  readonly #statePath: string;
  readonly vmCid: string | undefined;
  /**
   * The agent id of a VM that may exist although its cid was never received. The next run requests it again.
   */
  readonly pendingAgentId: string | undefined;
  readonly diskCids: readonly string[];
  readonly stemcellCids: readonly string[];
  /** Disks that may exist although their cids were never received. The cloud lists them as unclaimed. */
  readonly unconfirmedDisks: readonly PendingDisk[];

  constructor(statePath: string, state: DeploymentState, { vm, disks }: Pending) {
    this.#statePath = statePath;
    this.vmCid = state.current_vm_cid === '' ? undefined : state.current_vm_cid;
    const isRecorded = vm?.cid !== undefined && vm.cid === this.vmCid;
    this.pendingAgentId = isRecorded ? undefined : vm?.agent_id;
    this.diskCids = state.disks.map(({ cid }) => cid);
    this.stemcellCids = state.stemcells.map(({ cid }) => cid);
    this.unconfirmedDisks = disks;
  }

  /** True if the deployment has, or may have, a VM. */
  get hasVm(): boolean {
    return (this.vmCid ?? this.pendingAgentId) !== undefined;
  }

  /** True if the deployment has, or may have, a VM or a disk. */
  get hasVmOrDisk(): boolean {
    return this.hasVm || this.diskCids.length + this.unconfirmedDisks.length > 0;
  }

  get isEmpty(): boolean {
    return !this.hasVmOrDisk && this.stemcellCids.length === 0;
  }

  /** Returns for example `The deployment of 'x-state.json' has VM 'vm-1', disk 'disk-1'`. */
  describe(): string {
    const parts = [
      ...(this.vmCid === undefined ? [] : [`VM '${this.vmCid}'`]),
      ...(this.pendingAgentId === undefined ? [] : [`a VM requested for agent '${this.pendingAgentId}'`]),
      ...this.diskCids.map((cid) => `disk '${cid}'`),
      ...this.unconfirmedDisks.map(({ id }) => `a disk requested as '${id}'`),
    ];
    const described = parts.length > 0 ? parts : this.stemcellCids.map((cid) => `stemcell '${cid}'`);
    return `The deployment of '${this.#statePath}' has ${described.join(', ')}`;
  }
}
