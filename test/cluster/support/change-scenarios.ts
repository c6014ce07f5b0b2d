import assert from 'node:assert/strict';
import { claimReference, type PersistentVolumeClaim } from '../../../src/cpi/disk/disks.ts';
import { detachDisk } from '../../../src/cpi/disk/detach-disk.ts';
import { updateDisk } from '../../../src/cpi/disk/update-disk.ts';
import type { DiskClass } from './cluster-under-test.ts';
import type { ClusterWorld, NewVm } from './cluster-world.ts';
import { assertCanary, endDisk, filledDisk, stopWriting, storeOf, createWritingVm } from './disk-setup.ts';
import { resizeDisk } from '../../../src/cpi/disk/resize-disk.ts';
import { deleteVm } from '../../../src/cpi/vm/delete-vm.ts';
import { assertIntact } from './assert-intact.ts';
import { deleteSnapshot } from '../../../src/cpi/snapshot/delete-snapshot.ts';
import { snapshotDisk } from '../../../src/cpi/snapshot/snapshot-disk.ts';
import { volumeSnapshotContents, volumeSnapshots } from '../../../src/kubernetes/resources.ts';
import type { VolumeSnapshot, VolumeSnapshotContent } from '../../../src/kubernetes/types/storage.ts';
import { until } from '../../support/until.ts';
import { readFromSnapshot } from './snapshot-content.ts';

/**
 * Calls update_disk with other attributes. The cid stays the same, the driver changes the volume, and its
 * data must be there.
 */
export async function survivesAttributeChange(world: ClusterWorld, storageClass: DiskClass): Promise<void> {
  const filled = await filledDisk(world, storageClass);
  const { vm, disk } = filled;
  await detachDisk(world.cloud, { vmCid: vm, diskCid: disk });
  const properties = { ...world.diskProperties(storageClass), volume_attributes_class: 'loop-fast' };
  assert.equal(
    await updateDisk(world.cloud, { diskCid: disk, sizeMiB: 32, cloudProperties: properties }),
    null,
  );
  const claim = await world.api.get<PersistentVolumeClaim>(claimReference(world.cloud, disk));
  assert.equal(claim.status?.currentVolumeAttributesClassName, 'loop-fast');
  await assertCanary(world, filled);
  await detachDisk(world.cloud, { vmCid: vm, diskCid: disk });
  await endDisk(world, filled);
}

/** Calls resize_disk. The disk must be larger and have its data. */
export async function survivesResize(world: ClusterWorld, storageClass: DiskClass): Promise<void> {
  const filled = await filledDisk(world, storageClass);
  const { vm, disk } = filled;
  await detachDisk(world.cloud, { vmCid: vm, diskCid: disk });
  await resizeDisk(world.cloud, { diskCid: disk, sizeMiB: 64 });
  await assertCanary(world, filled);
  const size = await world.inVm(vm, `df --output=size -m /warden-cpi-dev/disks/${disk} | tail -n 1`);
  assert.ok(Number(size) > 45, `the file system has ${size.trim()} MiB`);
  await detachDisk(world.cloud, { vmCid: vm, diskCid: disk });
  await endDisk(world, filled);
}

/**
 * Moves a disk with a job's data to another class by update_disk. The cid is new, and the new disk must be
 * intact.
 */
export async function survivesUpdate(
  world: ClusterWorld,
  { cloud = world.cloud }: Pick<NewVm, 'cloud'> = {},
): Promise<void> {
  const { vm, disks } = await createWritingVm(world, ['loop']);
  const [disk = ''] = disks;
  await stopWriting(world, vm, storeOf(0));
  await detachDisk(cloud, { vmCid: vm, diskCid: disk });
  const copy = await updateDisk(cloud, {
    diskCid: disk,
    sizeMiB: 32,
    cloudProperties: world.diskProperties('loop-wait'),
  });
  assert.ok(typeof copy === 'string' && copy !== disk);
  const { spec } = await world.api.get<PersistentVolumeClaim>(claimReference(world.cloud, copy));
  assert.equal(spec.storageClassName, world.cluster.storageClass('loop-wait'));
  await deleteVm(world.cloud, { vmCid: vm });
  await assertIntact(world, [copy], {}, () => disk);
}

/**
 * Takes a snapshot. It must have the content of its moment, also when it is restored into that class. After
 * its deletion neither an object nor blocks may be left.
 */
export async function survivesSnapshot(world: ClusterWorld, restoredInto: DiskClass): Promise<void> {
  const { api } = world;
  const filled = await filledDisk(world, 'loop');
  const { vm, disk, hint } = filled;
  const snapshot = await snapshotDisk(world.cloud, { diskCid: disk, metadata: {} });
  await world.inVm(vm, `echo later > ${hint}/canary && sync -f ${hint}`);
  const restored = await readFromSnapshot(world, snapshot, {
    file: 'store/canary',
    storageClass: restoredInto,
  });
  assert.equal(restored, `${disk}\n`, `the disk has lost its content: ${restored}`);
  await assertCanary(world, filled, 'later');

  const at = { resource: volumeSnapshots, namespace: world.namespace, name: snapshot };
  const { status } = await api.get<VolumeSnapshot>(at);
  const content = { resource: volumeSnapshotContents, name: status?.boundVolumeSnapshotContentName ?? '' };
  const handle = (await api.get<VolumeSnapshotContent>(content)).status?.snapshotHandle ?? '';
  assert.notEqual(await world.cluster.hasSnapshot(handle), false, 'the driver has no such snapshot');
  await deleteSnapshot(world.cloud, { snapshotCid: snapshot });
  assert.equal(await world.isThere(at), false);
  await until('the content to go', async () => !(await world.isThere(content)));
  assert.ok(!(await world.cluster.hasSnapshot(handle)), 'the driver has it still');
  assert.equal(await deleteSnapshot(world.cloud, { snapshotCid: snapshot }), null);
  await endDisk(world, filled);
}
