import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { nodes } from '../../src/kubernetes/resources.ts';
import { openTransport } from '../../src/kubernetes/open-transport.ts';
import type { ClusterWorld } from './support/cluster-world.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { assertWhole, writingVm } from './support/disk-subject.ts';

/** The pod's own grace (30 s) and what kubelet's teardown may add to it. */
const bound = 60;

describeCluster('a VM pod that somebody else deletes while jobs write to its disks', (world) => {
  async function endsWhole(end: (vm: string) => Promise<void>): Promise<void> {
    const { vm, disks } = await writingVm(world(), ['loop', 'loop-wait']);
    const other = await world().otherNode(vm);
    await end(vm);
    const seconds = await world().untilGone(vm);
    assert.ok(seconds < bound, `the pod took ${seconds} s to go`);
    await deleteVm(world().cloud, [vm]);
    for (const disk of disks) await world().untilGone(`attach-${disk}`);
    await assertWhole(world(), disks, { node: other });
  }

  test('kubectl delete pod', () => endsWhole((vm) => world().api.delete(world().podReference(vm))));

  test('an eviction', () => endsWhole((vm) => evict(world(), vm)));

  test('a drain: cordoned, every pod of the node that tolerates nothing evicted', () =>
    endsWhole(async (vm) => {
      const { name } = await world().nodeOf(vm);
      const reference = { resource: nodes, name };
      await world().api.patch(reference, { spec: { unschedulable: true } });
      try {
        await evict(world(), vm);
        await world().untilGone(vm);
      } finally {
        await world().api.patch(reference, { spec: { unschedulable: null } });
      }
    }));

  test('deleted by force: the attachment finds out by itself and lets go', async () => {
    const { vm, disks } = await writingVm(world(), ['loop']);
    await world().api.delete(world().podReference(vm), { gracePeriodSeconds: 0 });
    await deleteVm(world().cloud, [vm]);
    for (const disk of disks) await world().untilGone(`attach-${disk}`);
    await assertWhole(world(), disks);
  });
});

/** POST to the eviction subresource, as `kubectl drain` does; again while a budget says no. */
async function evict({ cluster, namespace }: ClusterWorld, pod: string): Promise<void> {
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
