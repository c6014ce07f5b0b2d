import { simulatedLabel } from '../../embedded-cluster/testing/simulated-nodes/simulated-node-object.ts';
import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import type { KubernetesApi } from '../../src/kubernetes/api.ts';
import type { Node } from '../../src/kubernetes/types/node.ts';
import { nodes } from '../../src/kubernetes/resources.ts';

/** Longer than any clause leaves a node of its own silent. */
const deadMs = 5 * 60_000;

/**
 * Removes the Nodes that a killed run of this suite has left on a cluster: simulated ones whose heartbeat has
 * ended.
 */
export async function removeDeadNodes(api: KubernetesApi, now: number): Promise<void> {
  const { items } = await api.list<Node>(nodes, { labelSelector: `${simulatedLabel}=true` });
  for (const node of items.filter((each) => isDead(each, now))) {
    const { name, uid } = node.metadata;
    await api.delete({ resource: nodes, name }, { preconditions: { uid } }).catch((error: unknown) => {
      // Another run of the suite may have deleted the node, or a new one has its name.
      if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
    });
  }
}

function isDead({ status }: Node, now: number): boolean {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status === 'Unknown' && now - Date.parse(ready.lastTransitionTime ?? '') > deadMs;
}
