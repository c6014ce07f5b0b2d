import type { Node } from '../../../src/kubernetes/types/node.ts';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import type { PersistentVolume } from '../../../src/kubernetes/types/storage.ts';
import type { Amounts } from '../../../src/kubernetes/types/usage.ts';

export interface NodeInfo {
  readonly node: Node;
  /** Pods that use resources of the node: assigned and not terminal. */
  readonly podsOnNode: readonly Pod[];
}

export interface FilterInput {
  readonly pod: Pod;
  /** Volumes that the pod's claims are bound to. */
  readonly volumes: readonly PersistentVolume[];
  /** Nodes that were already selected for claims of the pod. */
  readonly selectedNodes: readonly string[];
  /** Claims that the pod may not share with another pod (ReadWriteOncePod). */
  readonly exclusive?: readonly string[];
  readonly nodes: readonly NodeInfo[];
  /** Returns the requests of a pod: `podRequests`, or a variant that caches the sums. */
  readonly requestsOf?: (pod: Pod) => Amounts;
}
