import { deleteVm } from '../../../src/cpi/vm/delete-vm.ts';
import type { ClusterWorld, NewVm } from './cluster-world.ts';
import { assertWhole } from './assert-whole.ts';
import { writingVm } from './disk-subject.ts';
import { leaveMount } from './harm-attachment.ts';

/**
 * Deletes a VM's pod (`remove`) while a job writes to a disk whose attachment pod is deleted and has left its
 * mount in the hub. delete_vm must end the pod, and the disk must be intact on another node afterwards.
 */
export async function outlivesLeftMount(
  world: ClusterWorld,
  remove: (vm: string) => Promise<unknown>,
  vmOptions: NewVm = {},
): Promise<void> {
  const subject = await writingVm(world, ['loop'], vmOptions);
  const { vm, disks } = subject;
  const other = await world.otherNode(vm);
  await leaveMount(world, subject);
  await remove(vm);
  await deleteVm(world.cloud, [vm]);
  // The pod that delete_vm created to unmount the leftover mount.
  await world.untilGone(`attach-${vm}`);
  await assertWhole(world, disks, { node: other });
}
