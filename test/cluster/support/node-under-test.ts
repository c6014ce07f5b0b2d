import { openApi } from '../../../src/kubernetes/open-api.ts';
import { loadAccess } from '../../../src/kubernetes/load-access.ts';
import { readFile } from 'node:fs/promises';
import { awaitNodes } from '../await-nodes.ts';
import type { ClusterNode } from '../node/cluster-node.ts';
import { conflistName } from '../node/pod-network.ts';
import type { RealCluster } from '../real-cluster.ts';
import type { NodeUnderTest } from './cluster-under-test.ts';

const conflist = `/etc/cni/net.d/${conflistName}`;
/** A name that is not one of a configuration. */
const heldConflist = `${conflist}.held`;

/** What the suites do to a node of our own cluster. */
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
    start: async (withoutNetwork) => {
      await node.machine.kill();
      await node.start(cluster.controlPlane.machine);
      if (withoutNetwork !== undefined) await node.machine.runWell(['mv', conflist, heldConflist]);
      await node.serve();
      await withoutNetwork?.();
      if (withoutNetwork !== undefined) await node.machine.runWell(['mv', heldConflist, conflist]);
      const api = await openApi(await loadAccess(await readFile(cluster.layout.kubeconfig, 'utf8')));
      try {
        await awaitNodes(api, [node.plan]);
      } finally {
        api.close();
      }
    },
  };
}
