import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { hasVm } from '../../src/cpi/vm/has-vm.ts';
import { until } from '../support/until.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { fixedAddress } from './support/fixed-address.ts';
import type { NodeUnderTest } from './support/cluster-under-test.ts';
import {
  nodeReference,
  startAgain,
  untilLost,
  untilReady,
  withShortDeadlines,
  survivesLostNode,
  readRemedy,
} from './support/node-scenarios.ts';
import { withoutNodes } from './test-cluster.ts';

/** Lost nodes with a real node controller and a real attach-detach controller. */
describeCluster('a node whose processes are frozen', (world) => {
  const second = (): NodeUnderTest => {
    const [, node] = world().cluster.nodes;
    assert.ok(node !== undefined, 'the cluster has one node');
    return node;
  };
  const pinnedVm = async (number: number): Promise<{ pinned: string; ip: string }> => {
    const ip = fixedAddress(world(), 'lost-node', number);
    const networks = { default: { type: 'manual', ip, netmask: '255.255.0.0', cloud_properties: {} } };
    return { pinned: await world().newVm({ node: second().name, networks }), ip };
  };

  test(
    'delete_vm: by force without disks and address; with either it names the remedy, and after it the disk is whole elsewhere',
    withoutNodes,
    async () => {
      const node = second();
      const light = await world().newVm({ node: node.name });
      const { pinned, ip } = await pinnedVm(0);
      await survivesLostNode(world(), {
        node,
        lost: async () => {
          await deleteVm(withShortDeadlines(world()), { vmCid: light });
          assert.equal(await hasVm(withShortDeadlines(world()), { vmCid: light }), false);
          await readRemedy(world(), { vm: pinned, stake: ip, node: node.name });
        },
        // The power is cut for good before an operator follows the advice.
        beforeRemedy: () => node.stop(),
        deleted: async () => {
          await deleteVm(withShortDeadlines(world()), { vmCid: pinned });
          assert.equal(await hasVm(withShortDeadlines(world()), { vmCid: pinned }), false);
        },
      });
    },
  );

  test(
    'a VM that was removed by force ends when its node thaws, and its neighbour runs on',
    withoutNodes,
    async () => {
      const node = second();
      const [forced, neighbour] = [
        await world().newVm({ node: node.name }),
        await world().newVm({ node: node.name }),
      ];
      const containerOf = async (vm: string): Promise<string> =>
        ((await world().pod(vm)).status?.containerStatuses?.[0]?.containerID ?? '').replace(/^.*:\/\//u, '');
      const [forcedId, neighbourId] = [await containerOf(forced), await containerOf(neighbour)];
      const running = async (): Promise<string[]> =>
        (await node.run(['ctr', '--namespace', 'k8s.io', 'tasks', 'list', '--quiet'])).stdout.split('\n');
      assert.ok((await running()).includes(forcedId), 'containerd does not list the VM');
      await node.freeze();
      try {
        await untilLost(world(), node.name);
        await deleteVm(withShortDeadlines(world()), { vmCid: forced });
      } finally {
        await node.thaw();
      }
      await until('the VM to end', async () => !(await running()).includes(forcedId), 300_000);
      await untilReady(world(), node.name);
      assert.ok((await running()).includes(neighbourId), 'the neighbour was ended too');
      assert.equal(await containerOf(neighbour), neighbourId);
      await deleteVm(world().cloud, { vmCid: neighbour });
    },
  );

  test('delete_vm of one with a fixed address succeeds when its Node is deleted', withoutNodes, async () => {
    const node = second();
    const { pinned } = await pinnedVm(1);
    await node.stop();
    try {
      await world().api.delete(nodeReference(node.name));
      await deleteVm(withShortDeadlines(world()), { vmCid: pinned });
      assert.equal(await hasVm(withShortDeadlines(world()), { vmCid: pinned }), false);
    } finally {
      await startAgain(world(), node);
    }
  });
});
