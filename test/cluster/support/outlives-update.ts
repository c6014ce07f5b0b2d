import assert from 'node:assert/strict';
import { claimReference, type PersistentVolumeClaim } from '../../../src/cpi/disk/disks.ts';
import { detachDisk } from '../../../src/cpi/disk/detach-disk.ts';
import { updateDisk } from '../../../src/cpi/disk/update-disk.ts';
import { deleteVm } from '../../../src/cpi/vm/delete-vm.ts';
import { assertWhole } from './assert-whole.ts';
import type { ClusterWorld, NewVm } from './cluster-world.ts';
import { stopWriting, storeOf, writingVm } from './disk-subject.ts';

/**
 * Moves a disk with a job's data to another class by update_disk. The cid is new, and the new disk must be
 * intact.
 */
export async function outlivesUpdate(
  world: ClusterWorld,
  { cloud = world.cloud }: Pick<NewVm, 'cloud'> = {},
): Promise<void> {
  const { vm, disks } = await writingVm(world, ['loop']);
  const [disk = ''] = disks;
  await stopWriting(world, vm, storeOf(0));
  await detachDisk(cloud, [vm, disk]);
  const copy = await updateDisk(cloud, [disk, 32, world.diskProperties('loop-wait')]);
  assert.ok(typeof copy === 'string' && copy !== disk);
  const { spec } = await world.api.get<PersistentVolumeClaim>(claimReference(world.cloud, copy));
  assert.equal(spec.storageClassName, world.cluster.storageClass('loop-wait'));
  await deleteVm(world.cloud, [vm]);
  await assertWhole(world, [copy], {}, () => disk);
}
