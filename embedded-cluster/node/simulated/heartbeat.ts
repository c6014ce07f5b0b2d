import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { KubernetesApi } from '../../../src/kubernetes/api.ts';
import { type Lease, nodeLeaseNamespace } from '../../../src/kubernetes/types/node.ts';
import type { KubernetesObject } from '../../../src/kubernetes/object.ts';
import { leases, nodes } from '../../../src/kubernetes/resources.ts';

/** kubelet's nodeLeaseDurationSeconds. */
const leaseSeconds = 40;

/**
 * Renews the Lease of a node, as kubelet does. Creates the Lease, owned by the Node, if it is missing. Does
 * nothing for a deleted node. `now`: milliseconds since the epoch.
 */
export async function renewLease(api: KubernetesApi, name: string, now: number): Promise<void> {
  const renewTime = new Date(now).toISOString().replace('Z', '000Z');
  try {
    await api.patch({ resource: leases, namespace: nodeLeaseNamespace, name }, { spec: { renewTime } });
  } catch (error) {
    if (!isApiError(error, 404)) throw error;
    await makeLease(api, name, renewTime);
  }
}

async function makeLease(api: KubernetesApi, name: string, renewTime: string): Promise<void> {
  try {
    const { metadata } = await api.get<KubernetesObject>({ resource: nodes, name });
    await api.create<Lease>(leases, {
      metadata: {
        name,
        namespace: nodeLeaseNamespace,
        ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid: metadata.uid ?? '' }],
      },
      spec: { holderIdentity: name, leaseDurationSeconds: leaseSeconds, renewTime },
    });
  } catch (error) {
    // The node was deleted, or another renewal was faster.
    if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
  }
}
