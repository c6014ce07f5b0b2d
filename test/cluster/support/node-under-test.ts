import { openApi } from '../../../src/kubernetes/client/rest-api.ts';
import { loadAccess } from '../../../src/kubernetes/access/kubeconfig-access.ts';
import { readFile } from 'node:fs/promises';
import { awaitNodes } from '../await-nodes.ts';
import type { ClusterNode } from '../node/cluster-node.ts';
import type { RealCluster } from '../real-cluster.ts';
import type { NodeUnderTest } from './cluster-under-test.ts';
import { holdHubs, letHubsBeMounted } from './held-hubs.ts';

/** Returns the operations of the suites on a node of our own cluster. */
export function nodeUnderTest(cluster: RealCluster, node: ClusterNode): NodeUnderTest {
  return {
    name: node.name,
    run: (command) => node.machine.run(command),
    freeze: () => node.machine.freeze(),
    thaw: () => node.machine.thaw(),
    restart: (program) => {
      switch (program) {
        case 'kubelet':
          return node.restartKubelet();
        case 'containerd':
          return node.restartContainerd();
      }
    },
    stop: () => node.machine.kill(),
    start: async (beforeHubs) => {
      await node.machine.kill();
      await node.start(cluster.controlPlane.machine);
      if (beforeHubs !== undefined) await holdHubs(node.machine);
      await node.serve();
      await beforeHubs?.();
      if (beforeHubs !== undefined) await letHubsBeMounted(node.machine);
      const api = await openApi(await loadAccess(await readFile(cluster.layout.kubeconfig, 'utf8')));
      try {
        await awaitNodes(api, [node.plan]);
      } finally {
        api.close();
      }
    },
  };
}
