import assert from 'node:assert/strict';
import { startSimulatedCluster } from '../../src/cluster/testing/simulated-cluster.ts';
import { loadAccess } from '../../src/kubernetes/load-access.ts';
import { openTransport } from '../../src/kubernetes/open-transport.ts';
import { RestApi } from '../../src/kubernetes/rest-api.ts';
import type { Subject } from './subject.ts';

/** The API and the controllers of an embedded cluster, with nodes that run nothing: in process. */
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

/** The same over its HTTPS server. */
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
