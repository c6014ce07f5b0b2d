import type { KubernetesObject, NamespacedObject } from '../object.ts';

export interface Taint {
  key: string;
  value?: string;
  effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
  timeAdded?: string;
}

/** The part of v1.Node that we write or read. */
export interface Node extends KubernetesObject {
  spec?: { unschedulable?: boolean; taints?: Taint[] };
  status?: {
    allocatable?: Record<string, string>;
    addresses?: { type: string; address: string }[];
    conditions?: {
      type: string;
      status: string;
      reason?: string;
      message?: string;
      lastHeartbeatTime?: string;
      lastTransitionTime?: string;
    }[];
  };
}

/**
 * A label of the embedded cluster's nodes. Nodes of one machine have the same value, because they share their
 * volumes.
 */
export const machineLabel = 'bosh-kubernetes.io/machine';

/** The namespace of the node leases. Each node renews the lease of its own name. */
export const nodeLeaseNamespace = 'kube-node-lease';

/** coordination.k8s.io/v1 Lease. */
export interface Lease extends NamespacedObject {
  spec?: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    renewTime?: string;
  };
}
