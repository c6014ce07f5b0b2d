import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolumeClaim } from '../../src/cpi/disk/claim.ts';
import { attachDisk } from '../../src/cpi/disk/attach-disk.ts';
import { deleteDisk } from '../../src/cpi/disk/delete-disk.ts';
import { detachDisk } from '../../src/cpi/disk/detach-disk.ts';
import { resizeDisk } from '../../src/cpi/disk/resize-disk.ts';
import { updateDisk } from '../../src/cpi/disk/update-disk.ts';
import { deleteSnapshot } from '../../src/cpi/snapshot/delete-snapshot.ts';
import { snapshotDisk } from '../../src/cpi/snapshot/snapshot-disk.ts';
import { deleteVm } from '../../src/cpi/vm/delete-vm.ts';
import { isProductError } from '../../src/errors/product-error.ts';
import { persistentVolumeClaims } from '../../src/kubernetes/resources.ts';
import type { ClusterWorld } from './support/cluster-world.ts';
import { describeCluster } from './support/describe-cluster.ts';

const isNotSupported = (error: unknown): boolean =>
  isProductError(error, 'NOT_SUPPORTED') || isProductError(error, 'NOT_IMPLEMENTED');

describeCluster('snapshot_disk, resize_disk, update_disk', (world) => {
  test('snapshot: taken of an attached disk, and deleted', async () => {
    const { vm, disk } = await filledDisk(world(), 'loop');
    const snapshot = await snapshotDisk(world().cloud, [disk, {}]);
    assert.equal(await canary(world(), vm, disk), `${disk}\n`);
    await deleteSnapshot(world().cloud, [snapshot]);
    await endDisk(world(), vm, disk);
  });

  for (const storageClass of ['loop', 'loop-wait']) {
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

  test('update into another class: a new cid with the data', async () => {
    const { vm, disk } = await filledDisk(world(), 'loop');
    await detachDisk(world().cloud, [vm, disk]);
    const copy = await updateDisk(world().cloud, [disk, 32, { storage_class: 'loop-wait' }]);
    assert.ok(typeof copy === 'string' && copy !== disk);
    const claim = await world().api.get<PersistentVolumeClaim>({
      resource: persistentVolumeClaims,
      namespace: world().namespace,
      name: copy,
    });
    assert.equal(claim.spec.storageClassName, 'loop-wait');
    assert.equal(await canary(world(), vm, copy), `${disk}\n`);
    await detachDisk(world().cloud, [vm, copy]);
    await endDisk(world(), vm, copy);
  });

  test('update to another VolumeAttributesClass: in place, by the driver', async () => {
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

  test('a class without expansion and a driver without snapshots: refused as the caller tolerates it, the disk is whole', async () => {
    const { vm, disk } = await filledDisk(world(), 'loop-plain');
    await assert.rejects(snapshotDisk(world().cloud, [disk, {}]), isNotSupported);
    await detachDisk(world().cloud, [vm, disk]);
    await assert.rejects(resizeDisk(world().cloud, [disk, 64]), isNotSupported);
    assert.equal(await canary(world(), vm, disk), `${disk}\n`);
    await detachDisk(world().cloud, [vm, disk]);
    await endDisk(world(), vm, disk);
  });
});

async function filledDisk(world: ClusterWorld, storageClass: string): Promise<{ vm: string; disk: string }> {
  const vm = await world.newVm();
  const disk = await world.newDisk(storageClass);
  const hint = await attachDisk(world.cloud, [vm, disk]);
  await world.inVm(vm, `echo ${disk} > ${hint}/canary && sync -f ${hint}`);
  return { vm, disk };
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
