import assert from 'node:assert/strict';
import type { Access } from '../../../src/kubernetes/access/access.ts';
import { openTransport } from '../../../src/kubernetes/client/open-transport.ts';

/** Sends one POST to the pod's eviction subresource, as `kubectl drain` and the descheduler do. */
export async function evict(
  { cluster, namespace }: { readonly cluster: { readonly access: Access }; readonly namespace: string },
  pod: string,
): Promise<void> {
  const transport = await openTransport(cluster.access);
  try {
    const { status, body } = await transport.request({
      method: 'POST',
      path: `/api/v1/namespaces/${namespace}/pods/${pod}/eviction`,
      body: JSON.stringify({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: pod, namespace } }),
    });
    assert.ok(status < 300, `${status}: ${body}`);
  } finally {
    transport.close();
  }
}
