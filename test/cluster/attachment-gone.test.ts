import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attachDisk } from '../../src/cpi/disk/attach-disk.ts';
import { detachDisk } from '../../src/cpi/disk/detach-disk.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { until } from '../support/until.ts';
import type { ClusterWorld } from './support/cluster-world.ts';
import { describeCluster } from './support/describe-cluster.ts';
import {
  assertWhole,
  assertWritesOn,
  startWriting,
  stopWriting,
  storeOf,
  writingVm,
} from './support/disk-subject.ts';
import { evict } from './support/evict.ts';
import { withoutNodes } from './test-cluster.ts';

describeCluster('an attachment that somebody else ends', (world) => {
  test(
    'its containers killed: the disk is again where the agent expects it, the job has gone on',
    withoutNodes,
    async () => {
      const { vm, disks } = await writingVm(world(), ['loop']);
      const [disk = ''] = disks;
      const attachment = `attach-${disk}`;
      const node = await world().nodeOf(vm);
      const { containerStatuses } = (await world().pod(attachment)).status ?? {};
      const id = containerStatuses?.[0]?.containerID?.replace('containerd://', '') ?? '';
      const pids = await node.run([
        'sh',
        '-c',
        'for p in /proc/[0-9]*; do grep -qs "$0" $p/cgroup && echo ${p#/proc/}; done; true',
        id,
      ]);
      const found = pids.stdout.trim().split('\n');
      assert.ok(
        found.every((pid) => /^\d+$/u.test(pid)),
        pids.stdout + pids.stderr,
      );
      await node.run(['kill', '-9', ...found]);
      await until('a second life of the holder', async () => {
        const [status] = (await world().pod(attachment)).status?.containerStatuses ?? [];
        return (status?.restartCount ?? 0) > 0 && status?.state?.running !== undefined;
      });
      assert.equal(await world().inVm(vm, 'cat /var/vcap/store/canary'), `${disk}\n`);
      assert.equal(await world().inVm(vm, `cat /warden-cpi-dev/disks/${disk}/store/canary`), `${disk}\n`);
      await assertWritesOn(world(), vm, storeOf(0));
      await stopWriting(world(), vm, storeOf(0));
      await detachDisk(world().cloud, [vm, disk]);
      await assertWhole(world(), disks);
      await deleteVm(world().cloud, [vm]);
    },
  );

  test('deleted while the job writes: it stays until the job has ended, and attach_disk brings the disk back', () =>
    staysForTheJob(world(), (pod) => world().api.delete(world().podReference(pod))));

  test('evicted while the job writes: the same', () => staysForTheJob(world(), (pod) => evict(world(), pod)));
});

async function staysForTheJob(world: ClusterWorld, end: (pod: string) => Promise<unknown>): Promise<void> {
  const { vm, disks } = await writingVm(world, ['loop']);
  const [disk = ''] = disks;
  const attachment = `attach-${disk}`;
  await end(attachment);
  await assertWritesOn(world, vm, storeOf(0));
  assert.ok((await world.pod(attachment)).metadata.deletionTimestamp !== undefined);

  await stopWriting(world, vm, storeOf(0));
  await world.untilGone(attachment);
  const hint = await attachDisk(world.cloud, [vm, disk]);
  await world.inVm(vm, `mkdir -p ${storeOf(0)} && mount --bind ${hint} ${storeOf(0)}`);
  await startWriting(world, vm, storeOf(0));
  await stopWriting(world, vm, storeOf(0));
  await detachDisk(world.cloud, [vm, disk]);
  await assertWhole(world, disks);
  await deleteVm(world.cloud, [vm]);
}
