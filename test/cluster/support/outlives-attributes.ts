import assert from 'node:assert/strict';
import { claimReference, type PersistentVolumeClaim } from '../../../src/cpi/disk/disks.ts';
import { detachDisk } from '../../../src/cpi/disk/detach-disk.ts';
import { updateDisk } from '../../../src/cpi/disk/update-disk.ts';
import type { DiskClass } from './cluster-under-test.ts';
import type { ClusterWorld } from './cluster-world.ts';
import { assertCanary, endDisk, filledDisk } from './filled-disk.ts';

/**
 * Calls update_disk with other attributes. The cid stays the same, the driver changes the volume, and its
 * data must be there.
 */
export async function outlivesAttributes(world: ClusterWorld, storageClass: DiskClass): Promise<void> {
  const filled = await filledDisk(world, storageClass);
  const { vm, disk } = filled;
  await detachDisk(world.cloud, [vm, disk]);
  const properties = { ...world.diskProperties(storageClass), volume_attributes_class: 'loop-fast' };
  assert.equal(await updateDisk(world.cloud, [disk, 32, properties]), null);
  const claim = await world.api.get<PersistentVolumeClaim>(claimReference(world.cloud, disk));
  assert.equal(claim.status?.currentVolumeAttributesClassName, 'loop-fast');
  await assertCanary(world, filled);
  await detachDisk(world.cloud, [vm, disk]);
  await endDisk(world, filled);
}
