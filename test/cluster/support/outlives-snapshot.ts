import assert from 'node:assert/strict';
import { deleteSnapshot } from '../../../src/cpi/snapshot/delete-snapshot.ts';
import { snapshotDisk } from '../../../src/cpi/snapshot/snapshot-disk.ts';
import { volumeSnapshotContents, volumeSnapshots } from '../../../src/kubernetes/resources.ts';
import type { VolumeSnapshot, VolumeSnapshotContent } from '../../../src/kubernetes/types/storage.ts';
import { until } from '../../support/until.ts';
import type { DiskClass } from './cluster-under-test.ts';
import type { ClusterWorld } from './cluster-world.ts';
import { assertCanary, endDisk, filledDisk } from './filled-disk.ts';
import { readFromSnapshot } from './snapshot-content.ts';

/**
 * Takes a snapshot. It must have the content of its moment, also when it is restored into that class. After
 * its deletion neither an object nor blocks may be left.
 */
export async function outlivesSnapshot(world: ClusterWorld, restoredInto: DiskClass): Promise<void> {
  const { api } = world;
  const filled = await filledDisk(world, 'loop');
  const { vm, disk, hint } = filled;
  const snapshot = await snapshotDisk(world.cloud, [disk, {}]);
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
  await deleteSnapshot(world.cloud, [snapshot]);
  assert.equal(await world.isThere(at), false);
  await until('the content to go', async () => !(await world.isThere(content)));
  assert.ok(!(await world.cluster.hasSnapshot(handle)), 'the driver has it still');
  assert.equal(await deleteSnapshot(world.cloud, [snapshot]), null);
  await endDisk(world, filled);
}
