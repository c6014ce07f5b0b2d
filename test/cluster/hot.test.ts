import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attachDisk } from '../../src/cpi/disk/attach-disk.ts';
import { claimReference, type PersistentVolumeClaim } from '../../src/cpi/disk/claim.ts';
import { createDisk } from '../../src/cpi/disk/create-disk.ts';
import { detachDisk } from '../../src/cpi/disk/detach-disk.ts';
import { getDisks } from '../../src/cpi/disk/get-disks.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import type { Pod } from '../../src/kubernetes/pod.ts';
import { pods } from '../../src/kubernetes/resources.ts';
import { until } from '../support/until.ts';
import type { ClusterWorld } from './support/cluster-world.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { assertWhole, assertWritesOn, startWriting, stopWriting, storeOf } from './support/disk-subject.ts';
import { killSandbox, untilSecondLife } from './support/harm-attachment.ts';
import { outlivesDetach } from './support/outlives-detach.ts';
import { withoutNodes } from './test-cluster.ts';

describeCluster('hot attach and detach', (world) => {
  test('two disks come and go while a job runs: its pid and the pod stay as they were', async () => {
    const { cloud } = world();
    const vm = await world().newVm();
    await world().inVm(vm, '(exec setsid sleep 100000) > /dev/null 2>&1 & echo $! > /tmp/job');
    const job = (await world().inVm(vm, 'cat /tmp/job')).trim();
    const before = await world().pod(vm);
    const disks = [await world().newDisk('loop'), await world().newDisk('loop-wait')];
    for (const [index, disk] of disks.entries()) {
      const hint = await attachDisk(cloud, [vm, disk]);
      await world().inVm(vm, `mkdir -p ${storeOf(index)} && mount --bind ${hint} ${storeOf(index)}`);
      await world().inVm(vm, `echo ${disk} > ${storeOf(index)}/canary`);
      await startWriting(world(), vm, storeOf(index));
    }
    assert.deepEqual((await getDisks(cloud, [vm])).toSorted(), disks.toSorted());
    for (const [index, disk] of disks.entries()) {
      await stopWriting(world(), vm, storeOf(index));
      await detachDisk(cloud, [vm, disk]);
    }
    assert.deepEqual(await getDisks(cloud, [vm]), []);
    await world().inVm(vm, `test "$(cat /proc/${job}/comm)" = sleep`);
    const now = await world().pod(vm);
    assert.equal(now.metadata.uid, before.metadata.uid);
    assert.equal(now.status?.podIP, before.status?.podIP);
    assert.deepEqual(
      now.status?.containerStatuses?.map(({ restartCount }) => restartCount),
      [0],
    );
    await deleteVm(cloud, [vm]);
    await assertWhole(world(), disks);
  });

  test('a claim that only one pod may use (ReadWriteOncePod) is attached and detached', async () => {
    const { cloud, api } = world();
    const vm = await world().newVm();
    const properties = { ...world().diskProperties('loop'), access_mode: 'ReadWriteOncePod' };
    const disk = await createDisk(cloud, [32, properties, vm]);
    const { spec } = await api.get<PersistentVolumeClaim>(claimReference(cloud, disk));
    assert.deepEqual(spec.accessModes, ['ReadWriteOncePod']);
    const hint = await attachDisk(cloud, [vm, disk]);
    await world().inVm(vm, `cd ${hint} && echo ${disk} > canary && echo 1 > log && sync -f .`);
    await detachDisk(cloud, [vm, disk]);
    await deleteVm(cloud, [vm]);
    await assertWhole(world(), [disk]);
  });

  test('refused while a process writes through /var/vcap/store, beside a bystander that mounts the kubelet directory', async () => {
    const { cloud, api } = world();
    const { vm, isRefused } = await outlivesDetach(world(), {
      before: async ({ vm: cid, disks }) => {
        const node = await world().nodeNameOf(cid);
        await api.create(pods, bystander(world(), node));
        await until(
          'the bystander',
          async () => (await world().pod('bystander')).status?.phase === 'Running',
        );
        const mounts = await world().inVm('bystander', 'cat /proc/self/mountinfo');
        assert.match(mounts, new RegExp(disks[0] ?? '', 'u'));
      },
      refused: async ({ vm: cid, disks }) => {
        assert.deepEqual(await getDisks(cloud, [cid]), disks);
        assert.equal(await world().inVm(cid, 'cat /var/vcap/store/canary'), `${disks[0]}\n`);
        await assertWritesOn(world(), cid, storeOf(0));
      },
    });
    assert.ok(isRefused, 'detach_disk took a disk that was written to');
    await api.delete(world().podReference('bystander'));
    await deleteVm(cloud, [vm]);
  });

  test(
    'the sandbox of the attachment killed: the disk is there again, and one umount detaches it',
    withoutNodes,
    async () => {
      const { cloud } = world();
      const { vm, isRefused } = await outlivesDetach(world(), {
        before: async (subject) => {
          await killSandbox(world(), subject);
          // the holder was asked to end with its sandbox, and goes only when the job has let go of the disk
          await assertWritesOn(world(), subject.vm, storeOf(0));
          assert.equal(await world().inVm(subject.vm, 'cat /var/vcap/store/canary'), `${subject.disks[0]}\n`);
        },
        stopped: async (subject) => {
          await untilSecondLife(world(), subject);
          const entry = `/warden-cpi-dev/disks/${subject.disks[0]}`;
          const count = await world().inVm(subject.vm, `grep -c " ${entry} " /proc/self/mountinfo`);
          assert.equal(count.trim(), '1', 'the bind script stacked a second mount');
        },
      });
      assert.ok(isRefused, 'detach_disk took a disk that was written to');
      await deleteVm(cloud, [vm]);
    },
  );
});

/** It has copies of every mount below the kubelet's directory, which use nothing. */
function bystander({ cluster, namespace }: ClusterWorld, nodeName: string): Pod {
  return {
    metadata: { name: 'bystander', namespace },
    spec: {
      nodeSelector: { 'kubernetes.io/hostname': nodeName },
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          name: 'bosh',
          image: cluster.stemcell.image,
          command: ['/bin/sh', '-c', 'exec sleep 100000'],
          volumeMounts: [{ name: 'kubelet', mountPath: '/kubelet', mountPropagation: 'HostToContainer' }],
        },
      ],
      volumes: [{ name: 'kubelet', hostPath: { path: cluster.kubeletRootDirectory } }],
    },
  };
}
