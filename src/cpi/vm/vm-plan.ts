import type { NodeSelectorTerm } from '../../kubernetes/pod.ts';
import type { PodNetworking } from '../address/pod-networking.ts';
import type { AttachStrategy } from '../disk/attach/strategy.ts';
import type { Architecture } from '../stemcell/stemcell-cid.ts';
import type { InstanceGroup } from './instance-group.ts';
import type { VmProperties } from './vm-properties.ts';

/** What create_vm creates: the arguments of the call, completed with facts of the cluster. */
export interface VmPlan extends InstanceGroup {
  readonly cid: string;
  readonly agentId: string;
  readonly namespace: string;
  readonly image: string;
  /** The architecture of the stemcell, if its cid has one. */
  readonly architecture?: Architecture | undefined;
  readonly properties: VmProperties;
  readonly networking: PodNetworking;
  /** Empty: the name servers of the cluster. */
  readonly nameServers: readonly string[];
  /** Node selector terms from which the volumes of its disks can be reached. */
  readonly volumeTerms?: readonly NodeSelectorTerm[];
  readonly directorUuid: string | undefined;
  /** env.bosh.job_dir.tmpfs: how much memory rendered jobs may take. Absent: they are on the data volume. */
  readonly jobsInMemory?: string | undefined;
  readonly attach: AttachStrategy;
}
