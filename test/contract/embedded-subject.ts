import assert from 'node:assert/strict';
import { startSimulatedCluster } from '../../embedded-cluster/testing/simulated-cluster.ts';
import { loadAccess } from '../../src/kubernetes/access/kubeconfig-access.ts';
import { openTransport } from '../../src/kubernetes/client/open-transport.ts';
import { RestApi } from '../../src/kubernetes/client/rest-api.ts';
import type { Subject } from './subject.ts';

/** Starts the API and the controllers of an embedded cluster in this process, with nodes that run nothing. */
export async function makeLocalSubject(nodes: readonly { readonly name: string }[] = []): Promise<Subject> {
  const cluster = await startSimulatedCluster({ nodes });
  return {
    api: cluster.api,
    namespace: 'bosh',
    end: async () => {
      await cluster.stop();
      assert.deepEqual(cluster.errors, []);
    },
  };
}

/** Starts the same cluster and uses its HTTPS server. */
export async function makeServedSubject(nodes: readonly { readonly name: string }[] = []): Promise<Subject> {
  const cluster = await startSimulatedCluster({ nodes });
  const transport = await openTransport(await loadAccess(cluster.kubeconfig));
  return {
    api: new RestApi({ transport }),
    namespace: 'bosh',
    end: async () => {
      transport.close();
      await cluster.stop();
      assert.deepEqual(cluster.errors, []);
    },
  };
}
