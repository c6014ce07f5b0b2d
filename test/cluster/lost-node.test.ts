import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import type { Cloud } from '../../src/cpi/cloud.ts';
import { hasVm } from '../../src/cpi/vm/has-vm.ts';
import { isProductError } from '../../src/errors/product-error.ts';
import type { ObjectReference } from '../../src/kubernetes/api.ts';
import type { Node } from '../../src/kubernetes/node.ts';
import { nodes } from '../../src/kubernetes/resources.ts';
import { until } from '../support/until.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { assertWhole, writingVm } from './support/disk-subject.ts';
import { fixedAddress } from './support/fixed-address.ts';
import type { NodeUnderTest } from './support/cluster-under-test.ts';
import { withoutNodes } from './test-cluster.ts';

/** Design 4.6 where a real node controller and attach-detach controller have their say. */
describeCluster('a node whose processes are frozen', (world) => {
  const cloud = (): Cloud =>
    world().cloudWith({}, { deadlines: { lost_node: 5, delete_vm: 300, release: 2 } });
  const reference = (name: string): ObjectReference => ({ resource: nodes, name });
  const isReady = async (name: string): Promise<boolean> =>
    (await world().api.get<Node>(reference(name))).status?.conditions?.find(({ type }) => type === 'Ready')
      ?.status === 'True';
  const untilLost = (name: string): Promise<true> =>
    until('the node to be lost', async () => !(await isReady(name)), 180_000);
  const startAgain = async (node: NodeUnderTest): Promise<void> => {
    await node.stop();
    await node.start();
    await until('the node to be ready', () => isReady(node.name), 180_000);
  };
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
      const { vm, disks } = await writingVm(world(), ['loop'], { node: node.name });
      const [disk = ''] = disks;
      const light = await world().newVm({ node: node.name });
      const { pinned, ip } = await pinnedVm(0);
      await node.freeze();
      try {
        await untilLost(node.name);
        await deleteVm(cloud(), [light]);
        assert.equal(await hasVm(cloud(), [light]), false);

        let told = '';
        for (const [cid, stake] of [
          [vm, disk],
          [pinned, ip],
        ] as const) {
          await assert.rejects(deleteVm(cloud(), [cid]), (error) => {
            assert.ok(isProductError(error, 'NODE_LOST'), String(error));
            for (const word of [cid, stake, node.name])
              assert.ok(error.message.includes(word), `${word} is not in: ${error.message}`);
            told = /kubectl (taint nodes \S+ \S+:NoExecute)/u.exec(error.message)?.[1] ?? '';
            assert.notEqual(told, '', `no command is in: ${error.message}`);
            return true;
          });
          assert.equal(await hasVm(cloud(), [cid]), true);
        }
        assert.ok(await world().isThere(world().podReference(`attach-${disk}`)));

        // the power is cut for good before an operator may do as told
        await node.stop();
        await world().kubectl(...told.split(' '));
        for (const cid of [vm, pinned]) {
          await deleteVm(cloud(), [cid]);
          assert.equal(await hasVm(cloud(), [cid]), false);
        }
        const other = world().cluster.nodes.find(({ name }) => name !== node.name)?.name ?? '';
        await assertWhole(world(), [disk], { node: other });
      } finally {
        await world().api.patch(reference(node.name), { spec: { taints: null } });
        await startAgain(node);
      }
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
        await untilLost(node.name);
        await deleteVm(cloud(), [forced]);
      } finally {
        await node.thaw();
      }
      await until('the VM to end', async () => !(await running()).includes(forcedId), 300_000);
      await until('the node to be ready', () => isReady(node.name), 180_000);
      assert.ok((await running()).includes(neighbourId), 'the neighbour was ended too');
      assert.equal(await containerOf(neighbour), neighbourId);
      await deleteVm(world().cloud, [neighbour]);
    },
  );

  test('delete_vm of one with a fixed address succeeds when its Node is deleted', withoutNodes, async () => {
    const node = second();
    const { pinned } = await pinnedVm(1);
    await node.stop();
    try {
      await world().api.delete(reference(node.name));
      await deleteVm(cloud(), [pinned]);
      assert.equal(await hasVm(cloud(), [pinned]), false);
    } finally {
      await startAgain(node);
    }
  });
});
