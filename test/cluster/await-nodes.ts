import type { KubernetesApi } from '../../src/kubernetes/api.ts';
import type { Node } from '../../src/kubernetes/types/node.ts';
import { nodes, serviceAccounts } from '../../src/kubernetes/resources.ts';
import { waitFor } from '../../src/kubernetes/client/wait.ts';
import type { NodePlan } from './network.ts';

const deadlineMs = 120_000;

/** Waits until each node is Ready without a taint and pods can be created in the default namespace. */
export async function awaitNodes(api: KubernetesApi, plans: readonly NodePlan[]): Promise<void> {
  for (const { name } of plans) {
    await waitFor<Node, true>({
      api,
      reference: { resource: nodes, name },
      condition: (node) => (isReady(node) ? true : undefined),
      awaited: `node ${name} to be Ready`,
      deadlineMs,
      describeState: (node) => JSON.stringify(node?.status?.conditions ?? 'it is not registered'),
    });
  }
  await waitFor({
    api,
    reference: { resource: serviceAccounts, namespace: 'default', name: 'default' },
    condition: (account) => (account === undefined ? undefined : true),
    awaited: 'the default service account',
    deadlineMs,
  });
}

function isReady(node: Node | undefined): boolean {
  const ready = node?.status?.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status === 'True' && (node?.spec?.taints ?? []).length === 0;
}
