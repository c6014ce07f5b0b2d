import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attachDisk } from '../../src/cpi/disk/attach-disk.ts';
import { detachDisk } from '../../src/cpi/disk/detach-disk.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { isProductError } from '../../src/errors/product-error.ts';
import type { ClusterWorld } from './support/cluster-world.ts';
import { deleteAttachmentByForce, evict } from './support/vm-actions.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { type WritingVm, assertWritesOn, startWriting, stopWriting, storeOf } from './support/disk-setup.ts';
import { killContainers, untilRestarted } from './support/break-attachment.ts';
import { survivesAttachmentEnd, survivesDetach } from './support/detach-scenarios.ts';
import { withoutNodes } from './test-cluster.ts';

describeCluster('an attachment pod that another program ends', (world) => {
  test(
    'after a kill of its containers the disk is where the agent expects it, and the job has continued',
    withoutNodes,
    async () => {
      const { vm, isRefused } = await survivesDetach(world(), {
        before: async (subject) => {
          const [disk = ''] = subject.disks;
          await killContainers(world(), subject);
          await untilRestarted(world(), subject);
          for (const mountPoint of [storeOf(0), `/warden-cpi-dev/disks/${disk}/store`]) {
            assert.equal(await world().inVm(subject.vm, `cat ${mountPoint}/canary`), `${disk}\n`);
          }
          await assertWritesOn(world(), subject.vm, storeOf(0));
        },
      });
      assert.ok(isRefused, 'detach_disk took a disk that was written to');
      await deleteVm(world().cloud, { vmCid: vm });
    },
  );

  test('an attachment pod that is deleted while a job writes stays until the job has ended; attach_disk then attaches again', () =>
    staysForTheJob(world(), (pod) => world().api.delete(world().podReference(pod))));

  test('an attachment pod that is evicted while a job writes stays until the job has ended', () =>
    staysForTheJob(world(), (pod) => evict(world(), pod)));

  test(
    'after a forced deletion while a job writes, the node keeps the volume until detach_disk unmounts it',
    withoutNodes,
    async () => {
      const detach = (subject: WritingVm): Promise<null> =>
        detachDisk(world().cloud, { vmCid: subject.vm, diskCid: subject.disks[0] ?? '' });
      const { vm } = await survivesAttachmentEnd(world(), {
        end: (pod) => deleteAttachmentByForce(world(), pod),
        meanwhile: (subject) => assertWritesOn(world(), subject.vm, storeOf(0)),
        after: async (subject) => {
          await assert.rejects(detach(subject), (error) => isProductError(error, 'DISK_BUSY'));
          await assertWritesOn(world(), subject.vm, storeOf(0));
          await stopWriting(world(), subject.vm, storeOf(0));
          await detach(subject);
        },
      });
      await deleteVm(world().cloud, { vmCid: vm });
    },
  );
});

async function staysForTheJob(world: ClusterWorld, end: (pod: string) => Promise<unknown>): Promise<void> {
  const { vm } = await survivesAttachmentEnd(world, {
    end,
    meanwhile: async ({ vm: cid, disks: [disk = ''] }) => {
      await assertWritesOn(world, cid, storeOf(0));
      assert.ok((await world.pod(`attach-${disk}`)).metadata.deletionTimestamp !== undefined);
      await stopWriting(world, cid, storeOf(0));
    },
    after: async ({ vm: cid, disks: [disk = ''] }) => {
      const hint = await attachDisk(world.cloud, { vmCid: cid, diskCid: disk });
      await world.inVm(cid, `mkdir -p ${storeOf(0)} && mount --bind ${hint} ${storeOf(0)}`);
      await startWriting(world, cid, storeOf(0));
      await stopWriting(world, cid, storeOf(0));
      await detachDisk(world.cloud, { vmCid: cid, diskCid: disk });
    },
  });
  await deleteVm(world.cloud, { vmCid: vm });
}
