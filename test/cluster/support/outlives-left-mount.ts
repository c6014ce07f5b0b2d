import { deleteVm } from '../../../src/cpi/vm/delete-vm.ts';
import type { ClusterWorld, NewVm } from './cluster-world.ts';
import { assertWhole } from './assert-whole.ts';
import { writingVm } from './disk-subject.ts';
import { leaveMount } from './harm-attachment.ts';

/**
 * A VM's pod is deleted (`remove`) while a job writes to a disk whose attachment has gone and left its mount in the hub: delete_vm
 * ends it, and the disk is whole on another node then.
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
  // what delete_vm made to take the mount out
  await world.untilGone(`attach-${vm}`);
  await assertWhole(world, disks, { node: other });
}
