import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getDisks } from '../../src/cpi/disk/get-disks.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { unrelatedPod, startUnrelatedPod } from './support/unrelated-pod.ts';
import type { ClusterWorld } from './support/cluster-world.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { diskForOnePod, assertWritesOn, type WritingVm, storeOf } from './support/disk-setup.ts';
import { killEndingMountContainer, killSandbox, untilRestarted } from './support/break-attachment.ts';
import { survivesDetach, survivesDetachOfOneDisk } from './support/detach-scenarios.ts';
import { withoutNodes } from './test-cluster.ts';

describeCluster('hot attach and detach', (world) => {
  test('two disks are attached and detached while a job runs; its pid and the pod do not change', async () => {
    const vm = await world().newVm();
    await world().inVm(vm, '(exec setsid sleep 100000) > /dev/null 2>&1 & echo $! > /tmp/job');
    const job = (await world().inVm(vm, 'cat /tmp/job')).trim();
    const before = await world().pod(vm);
    const { isRefused } = await survivesDetachOfOneDisk(world(), vm, {
      detached: async () => {
        await world().inVm(vm, `test "$(cat /proc/${job}/comm)" = sleep`);
        const now = await world().pod(vm);
        assert.equal(now.metadata.uid, before.metadata.uid);
        assert.equal(now.status?.podIP, before.status?.podIP);
        assert.deepEqual(
          now.status?.containerStatuses?.map(({ restartCount }) => restartCount),
          [0],
        );
      },
    });
    assert.ok(isRefused, 'detach_disk took a disk that was written to');
    await deleteVm(world().cloud, { vmCid: vm });
  });

  test('a claim that only one pod may use (ReadWriteOncePod) is attached and detached', async () => {
    const { vm, isRefused } = await survivesDetach(world(), { create: (cid) => diskForOnePod(world(), cid) });
    assert.ok(isRefused, 'detach_disk took a disk that was written to');
    await deleteVm(world().cloud, { vmCid: vm });
  });

  test('detach_disk is refused while a process writes through /var/vcap/store, beside an unrelated pod that mounts the kubelet directory', async () => {
    const { cloud, api } = world();
    const { vm, isRefused } = await survivesDetach(world(), {
      before: (subject) => startUnrelatedPod(world(), subject),
      refused: async ({ vm: cid, disks }) => {
        assert.deepEqual(await getDisks(cloud, { vmCid: cid }), disks);
        assert.equal(await world().inVm(cid, 'cat /var/vcap/store/canary'), `${disks[0]}\n`);
        await assertWritesOn(world(), cid, storeOf(0));
      },
    });
    assert.ok(isRefused, 'detach_disk took a disk that was written to');
    await api.delete(world().podReference(unrelatedPod));
    await deleteVm(cloud, { vmCid: vm });
  });

  test(
    "after a kill of the attachment pod's sandbox the disk is mounted again, and one umount detaches it",
    withoutNodes,
    async () => {
      const { vm, isRefused } = await survivesDetach(world(), {
        before: (subject) => loseSandbox(world(), subject),
        stopped: async (subject) => {
          await untilRestarted(world(), subject);
          await assertMountedOnce(world(), subject);
        },
      });
      assert.ok(isRefused, 'detach_disk took a disk that was written to');
      await deleteVm(world().cloud, { vmCid: vm });
    },
  );

  test(
    "after a kill of the attachment pod's sandbox and container, its mount remains, none is added, and one umount detaches the disk",
    withoutNodes,
    async () => {
      const { vm, isRefused } = await survivesDetach(world(), {
        before: async (subject) => {
          await loseSandbox(world(), subject);
          await killEndingMountContainer(world(), subject);
          await untilRestarted(world(), subject);
        },
        refused: (subject) => assertMountedOnce(world(), subject),
      });
      assert.ok(isRefused, 'detach_disk took a disk that was written to');
      await deleteVm(world().cloud, { vmCid: vm });
    },
  );
});

/** The mount container receives SIGTERM with its sandbox, and exits only when the job has closed the disk. */
async function loseSandbox(world: ClusterWorld, subject: WritingVm): Promise<void> {
  await killSandbox(world, subject);
  await assertWritesOn(world, subject.vm, storeOf(0));
  assert.equal(await world.inVm(subject.vm, 'cat /var/vcap/store/canary'), `${subject.disks[0]}\n`);
}

/** Waits until the mount container has mounted the disk, which may be later than its start. */
async function assertMountedOnce(world: ClusterWorld, { vm, disks: [disk = ''] }: WritingVm): Promise<void> {
  const entry = `/warden-cpi-dev/disks/${disk}`;
  await world.untilInVm(vm, `grep -q " ${entry} " /proc/self/mountinfo`);
  const count = await world.inVm(vm, `grep -c " ${entry} " /proc/self/mountinfo`);
  assert.equal(count.trim(), '1', 'the bind script stacked a second mount');
}
