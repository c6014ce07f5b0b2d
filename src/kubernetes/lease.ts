import type { KubernetesObject } from './object.ts';

/** The namespace of the node leases. Each node renews the lease of its own name. */
export const nodeLeaseNamespace = 'kube-node-lease';

/** coordination.k8s.io/v1 Lease. */
export interface Lease extends KubernetesObject {
  spec?: {
    holderIdentity?: string;
    leaseDurationSeconds?: number;
    renewTime?: string;
  };
}
