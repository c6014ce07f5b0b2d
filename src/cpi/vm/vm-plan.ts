import type { NodeSelectorTerm } from '../../kubernetes/pod.ts';
import type { PodNetworking } from '../address/pod-networking.ts';
import type { AttachStrategy } from '../disk/attach/strategy.ts';
import type { Architecture } from '../stemcell/stemcell-cid.ts';
import type { InstanceGroup } from './instance-group.ts';
import type { VmProperties } from './vm-properties.ts';

/** What create_vm makes: the arguments of the call, and what the cluster says about them. */
export interface VmPlan extends InstanceGroup {
  readonly cid: string;
  readonly agentId: string;
  readonly namespace: string;
  readonly image: string;
  /** Of the stemcell, where its cid tells it. */
  readonly architecture?: Architecture | undefined;
  readonly properties: VmProperties;
  readonly networking: PodNetworking;
  /** Empty: those of the cluster. */
  readonly nameServers: readonly string[];
  /** Where the volumes of its disks can be reached. */
  readonly volumeTerms?: readonly NodeSelectorTerm[];
  readonly directorUuid: string | undefined;
  /** env.bosh.job_dir.tmpfs: how much memory rendered jobs may take; absent: they are on the data volume. */
  readonly jobsInMemory?: string | undefined;
  readonly attach: AttachStrategy;
}
