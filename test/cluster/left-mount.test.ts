import assert from 'node:assert/strict';
import { test } from 'node:test';
import { attachDisk } from '../../src/cpi/disk/attach-disk.ts';
import { deleteDisk } from '../../src/cpi/disk/delete-disk.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import type { ClusterWorld } from './support/cluster-world.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { withoutNodes } from './test-cluster.ts';
import { type WritingVm, assertWritesOn, storeOf } from './support/disk-setup.ts';
import { leakMount } from './support/break-attachment.ts';
import { survivesLeakedMount, survivesDetach } from './support/detach-scenarios.ts';

describeCluster('an attachment pod deleted while its container waits for a restart', (world) => {
  test(
    'delete_vm removes the mount from the hub, the VM pod ends, and the data is intact',
    withoutNodes,
    () => survivesLeakedMount(world(), (vm) => world().api.delete(world().podReference(vm))),
  );

  test(
    'no other VM gets the disk, delete_disk refuses, and detach_disk unmounts the disk',
    withoutNodes,
    async () => {
      const { vm, isRefused } = await survivesDetach(world(), {
        before: async (subject) => {
          await leakMount(world(), subject);
          await isKept(world(), subject);
          await assertWritesOn(world(), subject.vm, storeOf(0));
        },
      });
      assert.ok(isRefused, 'detach_disk took a disk that was written to');
      await deleteVm(world().cloud, { vmCid: vm });
    },
  );
});

/** Asserts that the disk is neither attached to another VM of the node nor deleted. */
async function isKept(world: ClusterWorld, { vm, disks: [disk = ''] }: WritingVm): Promise<void> {
  const node = await world.nodeNameOf(vm);
  const neighbour = await world.newVm({ node });
  const isLeft = /may still be mounted in VM/u;
  await assert.rejects(attachDisk(world.cloud, { vmCid: neighbour, diskCid: disk }), {
    code: 'DISK_ATTACHED_ELSEWHERE',
    message: isLeft,
  });
  await deleteVm(world.cloud, { vmCid: neighbour });
  await assert.rejects(deleteDisk(world.cloud, { diskCid: disk }), { code: 'DISK_BUSY', message: isLeft });
}
