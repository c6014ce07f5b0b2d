import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolumeClaim } from '../../src/cpi/disk/claim.ts';
import { attachDisk } from '../../src/cpi/disk/attach-disk.ts';
import { deleteDisk } from '../../src/cpi/disk/delete-disk.ts';
import { detachDisk } from '../../src/cpi/disk/detach-disk.ts';
import { resizeDisk } from '../../src/cpi/disk/resize-disk.ts';
import { updateDisk } from '../../src/cpi/disk/update-disk.ts';
import { label } from '../../src/cpi/labels.ts';
import { deleteSnapshot } from '../../src/cpi/snapshot/delete-snapshot.ts';
import { snapshotDisk } from '../../src/cpi/snapshot/snapshot-disk.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { isProductError } from '../../src/errors/product-error.ts';
import {
  persistentVolumeClaims,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../src/kubernetes/resources.ts';
import type { VolumeSnapshot, VolumeSnapshotContent } from '../../src/kubernetes/snapshot.ts';
import { until } from '../support/until.ts';
import type { ClusterWorld } from './support/cluster-world.ts';
import type { DiskClass } from './support/cluster-under-test.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { withoutOtherClass } from './support/open-cluster.ts';
import { outlivesUpdate } from './support/outlives-update.ts';
import { readFromSnapshot } from './support/snapshot-content.ts';
import { withoutNodes } from './test-cluster.ts';

/** The code decides what a director does next (reference: cpi.md 1.5), so another one is as wrong as none. */
const refused =
  (code: 'NOT_SUPPORTED' | 'NOT_IMPLEMENTED', why: RegExp) =>
  (error: unknown): true => {
    assert.ok(isProductError(error, code), String(error));
    assert.match(error.message, why);
    return true;
  };

describeCluster('snapshot_disk, resize_disk, update_disk', (world) => {
  test('snapshot: has the content of its moment, and neither object nor blocks are left of a deleted one', async () => {
    const { api } = world();
    const { vm, disk, hint } = await filledDisk(world(), 'loop');
    const snapshot = await snapshotDisk(world().cloud, [disk, {}]);
    await world().inVm(vm, `echo later > ${hint}/canary && sync -f ${hint}`);
    assert.equal(await readFromSnapshot(world(), snapshot, 'store/canary'), `${disk}\n`);
    assert.equal(await canary(world(), vm, disk), 'later\n');

    const at = { resource: volumeSnapshots, namespace: world().namespace, name: snapshot };
    const { status } = await api.get<VolumeSnapshot>(at);
    const content = { resource: volumeSnapshotContents, name: status?.boundVolumeSnapshotContentName ?? '' };
    const handle = (await api.get<VolumeSnapshotContent>(content)).status?.snapshotHandle ?? '';
    assert.notEqual(await world().cluster.hasSnapshot(handle), false, 'the driver has no such snapshot');
    await deleteSnapshot(world().cloud, [snapshot]);
    assert.equal(await world().isThere(at), false);
    await until('the content to go', async () => !(await world().isThere(content)));
    assert.ok(!(await world().cluster.hasSnapshot(handle)), 'the driver has it still');
    assert.equal(await deleteSnapshot(world().cloud, [snapshot]), null);
    await endDisk(world(), vm, disk);
  });

  for (const storageClass of ['loop', 'loop-wait'] as const) {
    test(`resize of a disk of class ${storageClass}: larger, and its data is there`, async () => {
      const { vm, disk } = await filledDisk(world(), storageClass);
      await detachDisk(world().cloud, [vm, disk]);
      await resizeDisk(world().cloud, [disk, 64]);
      assert.equal(await canary(world(), vm, disk), `${disk}\n`);
      const size = await world().inVm(vm, `df --output=size -m /warden-cpi-dev/disks/${disk} | tail -n 1`);
      assert.ok(Number(size) > 45, `the file system has ${size.trim()} MiB`);
      await detachDisk(world().cloud, [vm, disk]);
      await endDisk(world(), vm, disk);
    });
  }

  test('update into another class: a new cid with the data', { skip: withoutOtherClass() }, () =>
    outlivesUpdate(world()),
  );

  test('update to another VolumeAttributesClass: in place, by the driver', withoutNodes, async () => {
    const { vm, disk } = await filledDisk(world(), 'loop');
    await detachDisk(world().cloud, [vm, disk]);
    const properties = { storage_class: 'loop', volume_attributes_class: 'loop-fast' };
    assert.equal(await updateDisk(world().cloud, [disk, 32, properties]), null);
    const claim = await world().api.get<PersistentVolumeClaim>({
      resource: persistentVolumeClaims,
      namespace: world().namespace,
      name: disk,
    });
    assert.equal(claim.status?.currentVolumeAttributesClassName, 'loop-fast');
    assert.equal(await canary(world(), vm, disk), `${disk}\n`);
    await detachDisk(world().cloud, [vm, disk]);
    await endDisk(world(), vm, disk);
  });

  test(
    'a class without expansion and a driver without snapshots: refused as the caller tolerates it, the disk is whole',
    withoutNodes,
    async () => {
      const { vm, disk } = await filledDisk(world(), 'loop-plain');
      const cloud = world().cloud;
      await assert.rejects(
        snapshotDisk(cloud, [disk, {}]),
        refused('NOT_IMPLEMENTED', /no default VolumeSnapshotClass/u),
      );
      await detachDisk(cloud, [vm, disk]);
      await assert.rejects(resizeDisk(cloud, [disk, 64]), refused('NOT_SUPPORTED', /allowVolumeExpansion/u));
      await assert.rejects(
        updateDisk(cloud, [disk, 32, { storage_class: 'loop' }]),
        refused('NOT_SUPPORTED', /no driver copies that/u),
      );
      await assert.rejects(
        updateDisk(cloud, [disk, 32, { storage_class: 'loop-plain', volume_attributes_class: 'loop-fast' }]),
        refused('NOT_SUPPORTED', /"loop-fast" is of driver/u),
      );
      await assertUntouched(world(), vm, disk, 'loop-plain');
      await endDisk(world(), vm, disk);
    },
  );

  test(
    'a copy by a driver that can neither clone nor snapshot: NOT_SUPPORTED at the deadline, taken back, the disk is whole',
    withoutNodes,
    async () => {
      const { vm, disk } = await filledDisk(world(), 'loop-plain');
      await detachDisk(world().cloud, [vm, disk]);
      const hasty = world().cloudWith({}, { deadlines: { update_disk: 10, release: 2 } });
      await assert.rejects(
        updateDisk(hasty, [disk, 64, { storage_class: 'loop-plain' }]),
        refused('NOT_SUPPORTED', /the copy was taken back/u),
      );
      await assertUntouched(world(), vm, disk, 'loop-plain');
      await endDisk(world(), vm, disk);
    },
  );

  test(
    'a class that is not there and attributes that the driver cannot do: NOT_SUPPORTED, taken back, the disk is whole',
    withoutNodes,
    async () => {
      const { vm, disk } = await filledDisk(world(), 'loop');
      const cloud = world().cloud;
      await detachDisk(cloud, [vm, disk]);
      await assert.rejects(
        updateDisk(cloud, [disk, 32, { storage_class: 'none-such' }]),
        refused('NOT_SUPPORTED', /no storage class "none-such"/u),
      );
      await assert.rejects(
        updateDisk(cloud, [disk, 32, { storage_class: 'loop', volume_attributes_class: 'none-such' }]),
        refused('NOT_SUPPORTED', /no VolumeAttributesClass "none-such"/u),
      );
      await assert.rejects(
        updateDisk(cloud, [disk, 32, { storage_class: 'loop', volume_attributes_class: 'loop-impossible' }]),
        refused('NOT_SUPPORTED', /cannot do VolumeAttributesClass "loop-impossible".*iops cannot be/su),
      );
      await assertUntouched(world(), vm, disk, 'loop');
      await endDisk(world(), vm, disk);
    },
  );
});

/** Class and size are as before, no copy is there, and the content can be read; leaves the disk detached. */
async function assertUntouched(
  world: ClusterWorld,
  vm: string,
  disk: string,
  storageClass: string,
): Promise<void> {
  const { namespace } = world;
  const { items } = await world.api.list<PersistentVolumeClaim>(persistentVolumeClaims, { namespace });
  const theirs = items.filter(
    ({ metadata }) => metadata.name === disk || metadata.labels?.[label.replaces] === disk,
  );
  assert.deepEqual(
    theirs.map(({ metadata, spec, status }) => ({
      name: metadata.name,
      storageClass: spec.storageClassName,
      attributes: spec.volumeAttributesClassName,
      asked: spec.resources?.requests?.['storage'],
      has: status?.capacity?.['storage'],
    })),
    [{ name: disk, storageClass, attributes: undefined, asked: '32Mi', has: '32Mi' }],
  );
  assert.equal(await canary(world, vm, disk), `${disk}\n`);
  await detachDisk(world.cloud, [vm, disk]);
}

async function filledDisk(
  world: ClusterWorld,
  storageClass: DiskClass,
): Promise<{ vm: string; disk: string; hint: string }> {
  const vm = await world.newVm();
  const disk = await world.newDisk(storageClass);
  const hint = await attachDisk(world.cloud, [vm, disk]);
  await world.inVm(vm, `echo ${disk} > ${hint}/canary && sync -f ${hint}`);
  return { vm, disk, hint };
}

/** Attaches the disk where it is not, and reads what was written. */
async function canary(world: ClusterWorld, vm: string, disk: string): Promise<string> {
  const hint = await attachDisk(world.cloud, [vm, disk]);
  return world.inVm(vm, `cat ${hint}/canary`);
}

async function endDisk(world: ClusterWorld, vm: string, disk: string): Promise<void> {
  await deleteVm(world.cloud, [vm]);
  await deleteDisk(world.cloud, [disk]);
}
