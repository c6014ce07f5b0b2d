import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attachDisk } from '../../src/cpi/disk/attach-disk.ts';
import { deleteDisk } from '../../src/cpi/disk/delete-disk.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { hasVm } from '../../src/cpi/vm/has-vm.ts';
import { isProductError } from '../../src/errors/product-error.ts';
import type { Node } from '../../src/kubernetes/node.ts';
import { nodes } from '../../src/kubernetes/resources.ts';
import { until } from '../support/until.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { writingVm } from './support/disk-subject.ts';

/** Design 4.6 where a real node controller and attach-detach controller have their say. */
describeCluster('a node whose processes are frozen', (world) => {
  test('delete_vm: by force without disks; with one it names the remedy, and after it the disk is whole elsewhere', async () => {
    const cloud = world().cloudWith({}, { deadlines: { lost_node: 5, delete_vm: 120, release: 2 } });
    const { vm, disks } = await writingVm(world(), ['loop'], {
      node: world().cluster.nodes[1]?.name ?? '',
    });
    const [disk = ''] = disks;
    const node = await world().nodeOf(vm);
    const light = await world().newVm({ node: node.name });
    const reference = { resource: nodes, name: node.name };
    const isReady = async (): Promise<boolean> =>
      (await world().api.get<Node>(reference)).status?.conditions?.find(({ type }) => type === 'Ready')
        ?.status === 'True';
    await node.freeze();
    try {
      await until('the node to be lost', async () => !(await isReady()), 180_000);
      await deleteVm(cloud, [light]);
      assert.equal(await hasVm(cloud, [light]), false);

      await assert.rejects(deleteVm(cloud, [vm]), (error) => {
        assert.ok(isProductError(error), String(error));
        for (const word of [disk, node.name, 'node.kubernetes.io/out-of-service=nodeshutdown:NoExecute']) {
          assert.ok(error.message.includes(word), `${word} is not in: ${error.message}`);
        }
        return true;
      });
      assert.equal(await hasVm(cloud, [vm]), true);
      assert.ok(await world().isThere(world().podReference(`attach-${disk}`)));

      // the power is cut for good before an operator may say so
      await node.stop();
      const { spec } = await world().api.get<Node>(reference);
      const key = 'node.kubernetes.io/out-of-service';
      const taints = [...(spec?.taints ?? []), { key, value: 'nodeshutdown', effect: 'NoExecute' }];
      await world().api.patch(reference, { spec: { taints } });
      await deleteVm(cloud, [vm]);
      const next = await world().newVm({ node: await otherName(node.name) });
      const hint = await attachDisk(world().cloud, [next, disk]);
      // the last line may be torn: its write had not returned when the power went
      const content = await world().inVm(
        next,
        `cd ${hint} && cat canary && head -n -1 log | awk '$1 != NR { print "line " NR " is " $0 }'`,
      );
      assert.equal(content, `${disk}\n`);
      await deleteVm(world().cloud, [next]);
      await deleteDisk(world().cloud, [disk]);
    } finally {
      await node.stop();
      await world().api.patch(reference, { spec: { taints: null } });
      await node.start();
      await until('the node to be ready', isReady, 180_000);
    }
  });

  const otherName = async (name: string): Promise<string> =>
    world().cluster.nodes.find((node) => node.name !== name)?.name ?? '';
});
