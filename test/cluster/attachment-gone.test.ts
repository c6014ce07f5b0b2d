import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attachDisk } from '../../src/cpi/disk/attach-disk.ts';
import { detachDisk } from '../../src/cpi/disk/detach-disk.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { isProductError } from '../../src/errors/product-error.ts';
import { until } from '../support/until.ts';
import type { ClusterWorld } from './support/cluster-world.ts';
import { describeCluster } from './support/describe-cluster.ts';
import {
  type DiskSubject,
  assertWhole,
  assertWritesOn,
  startWriting,
  stopWriting,
  storeOf,
  writingVm,
} from './support/disk-subject.ts';
import { evict } from './support/evict.ts';
import { outlivesAttachmentEnd } from './support/outlives-attachment-end.ts';
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

  test(
    'deleted by force while the job writes: the node keeps the volume until detach_disk takes it out of the VM',
    withoutNodes,
    async () => {
      const detach = (subject: DiskSubject): Promise<null> =>
        detachDisk(world().cloud, [subject.vm, subject.disks[0]]);
      const { vm } = await outlivesAttachmentEnd(world(), {
        end: async (pod) => {
          const node = await world().nodeOf(pod);
          const { uid = '' } = (await world().pod(pod)).metadata;
          await world().kubectl('delete', 'pod', pod, '--force', '--grace-period=0');
          // by then the kubelet has given back of the volume what it gives back
          const folder = `${world().cluster.kubeletRootDirectory}/pods/${uid}`;
          await until(
            'its folder to go',
            async () => (await node.run(['test', '-e', folder])).exitCode === 1,
          );
        },
        meanwhile: (subject) => assertWritesOn(world(), subject.vm, storeOf(0)),
        after: async (subject) => {
          await assert.rejects(detach(subject), (error) => isProductError(error, 'DISK_BUSY'));
          await assertWritesOn(world(), subject.vm, storeOf(0));
          await stopWriting(world(), subject.vm, storeOf(0));
          await detach(subject);
        },
      });
      await deleteVm(world().cloud, [vm]);
    },
  );
});

async function staysForTheJob(world: ClusterWorld, end: (pod: string) => Promise<unknown>): Promise<void> {
  const { vm } = await outlivesAttachmentEnd(world, {
    end,
    meanwhile: async ({ vm: cid, disks: [disk = ''] }) => {
      await assertWritesOn(world, cid, storeOf(0));
      assert.ok((await world.pod(`attach-${disk}`)).metadata.deletionTimestamp !== undefined);
      await stopWriting(world, cid, storeOf(0));
    },
    after: async ({ vm: cid, disks: [disk = ''] }) => {
      const hint = await attachDisk(world.cloud, [cid, disk]);
      await world.inVm(cid, `mkdir -p ${storeOf(0)} && mount --bind ${hint} ${storeOf(0)}`);
      await startWriting(world, cid, storeOf(0));
      await stopWriting(world, cid, storeOf(0));
      await detachDisk(world.cloud, [cid, disk]);
    },
  });
  await deleteVm(world.cloud, [vm]);
}
