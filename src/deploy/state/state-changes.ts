import type { DeploymentState, DiskRecord, ReleaseRecord, StemcellRecord } from './deployment-state.ts';

type Change = (state: DeploymentState) => DeploymentState;

/** Clears the record of what is deployed, which stays unknown until the deploy has succeeded. */
export const clearDeployed: Change = (state) => ({
  ...state,
  current_manifest_sha: '',
  current_release_ids: [],
  releases: [],
});

export function recordDeployed(manifestSha: string, releases: readonly ReleaseRecord[]): Change {
  return (state) => ({
    ...state,
    current_manifest_sha: manifestSha,
    current_release_ids: releases.map(({ id }) => id),
    releases,
  });
}

export interface RecordedVm {
  readonly cid: string;
  readonly agentId: string;
  /** The stemcell's id in the state file. */
  readonly stemcellId: string;
}

export function recordVm({ cid, agentId, stemcellId }: RecordedVm): Change {
  return (state) => ({
    ...state,
    current_vm_cid: cid,
    current_agent_id: agentId,
    current_stemcell_id: stemcellId,
  });
}

export function forgetVm(state: DeploymentState): DeploymentState {
  const { current_agent_id: _, ...others } = state;
  return { ...others, current_vm_cid: '', current_stemcell_id: '' };
}

/** Adds the record. Replaces a record with the same id. */
export function recordStemcell(record: StemcellRecord): Change {
  return (state) => ({
    ...state,
    stemcells: [...state.stemcells.filter(({ id }) => id !== record.id), record],
  });
}

export function forgetStemcell(id: string): Change {
  return (state) => ({
    ...state,
    stemcells: state.stemcells.filter((record) => record.id !== id),
    current_stemcell_id: state.current_stemcell_id === id ? '' : state.current_stemcell_id,
  });
}

export function recordDisk(record: DiskRecord): Change {
  return (state) => ({ ...state, disks: [...state.disks, record] });
}

export function makeDiskCurrent(id: string): Change {
  return (state) => ({ ...state, current_disk_id: id });
}

export function forgetDisk(id: string): Change {
  return (state) => ({
    ...state,
    disks: state.disks.filter((record) => record.id !== id),
    current_disk_id: state.current_disk_id === id ? '' : state.current_disk_id,
  });
}

export function currentDisk(state: DeploymentState): DiskRecord | undefined {
  return state.disks.find((record) => record.id === state.current_disk_id);
}

export function currentStemcell(state: DeploymentState): StemcellRecord | undefined {
  return state.stemcells.find((record) => record.id === state.current_stemcell_id);
}
