import type { Node } from '../../../kubernetes/node.ts';
import type { Pod } from '../../../kubernetes/pod.ts';
import type { PersistentVolume } from '../../../kubernetes/volume.ts';
import type { Amounts } from '../../../kubernetes/pod-requests.ts';

export interface NodeInfo {
  readonly node: Node;
  /** Pods that hold a place on the node: assigned and not over. */
  readonly podsOnNode: readonly Pod[];
}

export interface FilterInput {
  readonly pod: Pod;
  /** Volumes that the pod's claims are bound to. */
  readonly volumes: readonly PersistentVolume[];
  /** Where claims of the pod have been promised to be already. */
  readonly selectedNodes: readonly string[];
  /** Claims of the pod that it may not share with another (ReadWriteOncePod). */
  readonly exclusive?: readonly string[];
  readonly nodes: readonly NodeInfo[];
  /** `podRequests`, or one that remembers what it added up. */
  readonly requestsOf?: (pod: Pod) => Amounts;
}
