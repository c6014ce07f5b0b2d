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

/** Returns why an ordinary pod cannot be scheduled to the node. Undefined: one can. */
export function whyClosed({ spec, status }: Pick<Node, 'spec' | 'status'>): string | undefined {
  const isReady = status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True');
  if (isReady !== true) return 'it is not ready';
  if (spec?.unschedulable === true) return 'it is unschedulable';
  const taint = spec?.taints?.find(({ effect }) => effect !== 'PreferNoSchedule');
  return taint && `it has the taint ${taint.key}:${taint.effect}`;
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
