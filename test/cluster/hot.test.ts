import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attachDisk } from '../../src/cpi/disk/attach-disk.ts';
import { claimReference, type PersistentVolumeClaim } from '../../src/cpi/disk/claim.ts';
import { createDisk } from '../../src/cpi/disk/create-disk.ts';
import { detachDisk } from '../../src/cpi/disk/detach-disk.ts';
import { getDisks } from '../../src/cpi/disk/get-disks.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { isProductError } from '../../src/errors/product-error.ts';
import type { Pod } from '../../src/kubernetes/pod.ts';
import { pods } from '../../src/kubernetes/resources.ts';
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
import { outlivesDetach } from './support/outlives-detach.ts';
import { withoutNodes } from './test-cluster.ts';

const isBusy = (error: unknown): boolean => isProductError(error, 'DISK_BUSY');

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
    let isRefused = false;
    const { vm } = await outlivesDetach(world(), {
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
        isRefused = true;
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
      const { vm, disks } = await writingVm(world(), ['loop']);
      const [disk = ''] = disks;
      const attachment = `attach-${disk}`;
      const node = await world().nodeOf(vm);
      const uid = (await world().pod(attachment)).metadata.uid ?? '';
      const ctr = ['ctr', '--namespace', 'k8s.io'];
      const sandbox = `labels."io.kubernetes.pod.uid"==${uid},labels."io.cri-containerd.kind"==sandbox`;
      const found = await node.run([...ctr, 'containers', 'list', '--quiet', sandbox]);
      const killed = await node.run([...ctr, 'tasks', 'kill', '--signal', 'SIGKILL', found.stdout.trim()]);
      assert.equal(killed.exitCode, 0, found.stderr + killed.stderr);
      // the holder was asked to end with its sandbox, and goes only when the job has let go of the disk
      await assertWritesOn(world(), vm, storeOf(0));
      assert.equal(await world().inVm(vm, 'cat /var/vcap/store/canary'), `${disk}\n`);
      await assert.rejects(detachDisk(cloud, [vm, disk]), isBusy);
      await stopWriting(world(), vm, storeOf(0));
      await until('a second life of the attachment', async () => {
        const { containerStatuses } = (await world().pod(attachment)).status ?? {};
        const [status] = containerStatuses ?? [];
        return (status?.restartCount ?? 0) > 0 && status?.state?.running !== undefined;
      });
      const entry = `/warden-cpi-dev/disks/${disk}`;
      const count = await world().inVm(vm, `grep -c " ${entry} " /proc/self/mountinfo`);
      assert.equal(count.trim(), '1', 'the bind script stacked a second mount');
      await detachDisk(cloud, [vm, disk]);
      await assertWhole(world(), disks);
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
