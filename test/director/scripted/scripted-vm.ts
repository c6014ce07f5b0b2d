import type { CompiledPackages, Json } from './director-blobstore.ts';
import type { ReleaseOfJob } from './release-of-job.ts';

/** What a VM is created from. */
export interface VmRequest {
  readonly deployment: string;
  readonly group: string;
  readonly index: number;
  readonly stemcellCid: string;
  readonly vmProperties?: Json;
  readonly networks: Json;
  readonly address: string;
  /** The VM only compiles packages, with its first certificate. */
  readonly isCompilation?: boolean;
}

/** What an instance shall run, and its persistent disk. */
export interface JobRequest {
  readonly release: ReleaseOfJob;
  readonly packages: CompiledPackages;
  readonly properties: Json;
  /** In MiB; undefined: no persistent disk. */
  readonly diskSize?: number | undefined;
  readonly diskProperties?: Json;
}

export interface ScriptedDisk {
  readonly cid: string;
  readonly size: number;
}

/** An instance of the director. Its id and its disk stay when it gets another VM. */
export interface InstanceState {
  readonly id: string;
  readonly disk: ScriptedDisk | undefined;
}

/** One VM of the director. */
export interface ScriptedVm {
  readonly agentId: string;
  readonly cid: string;
  readonly request: VmRequest;
  /** The id of its instance. */
  readonly id: string;
  disk: ScriptedDisk | undefined;
  /** The spec of the last apply. */
  spec: Json;
}
