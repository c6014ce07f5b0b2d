import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PersistentVolumeClaim } from '../../src/cpi/disk/disks.ts';
import { detachDisk } from '../../src/cpi/disk/detach-disk.ts';
import { resizeDisk } from '../../src/cpi/disk/resize-disk.ts';
import { updateDisk } from '../../src/cpi/disk/update-disk.ts';
import { label } from '../../src/cpi/objects/labels.ts';
import { snapshotDisk } from '../../src/cpi/snapshot/snapshot-disk.ts';
import { isProductError } from '../../src/errors/product-error.ts';
import { persistentVolumeClaims } from '../../src/kubernetes/resources.ts';
import type { ClusterWorld } from './support/cluster-world.ts';
import { describeCluster } from './support/describe-cluster.ts';
import { withoutOtherClass } from './support/open-cluster.ts';
import { assertCanary, endDisk, filledDisk } from './support/disk-setup.ts';
import {
  survivesAttributeChange,
  survivesResize,
  survivesSnapshot,
  survivesUpdate,
} from './support/change-scenarios.ts';
import { withoutNodes } from './test-cluster.ts';

/** The code decides what a director does next, so a wrong code is as bad as none. */
const refused =
  (code: 'NOT_SUPPORTED' | 'NOT_IMPLEMENTED', why: RegExp) =>
  (error: unknown): true => {
    assert.ok(isProductError(error, code), String(error));
    assert.match(error.message, why);
    return true;
  };

describeCluster('snapshot_disk, resize_disk, update_disk', (world) => {
  test('a snapshot has the content of its moment; deleting it removes its objects and blocks', () =>
    survivesSnapshot(world(), 'loop'));

  for (const storageClass of ['loop', 'loop-wait'] as const)
    test(`resize_disk of class ${storageClass} makes the disk larger and keeps its data`, () =>
      survivesResize(world(), storageClass));

  test('an update to another class gives a new cid with the data', { skip: withoutOtherClass() }, () =>
    survivesUpdate(world()),
  );

  test('an update to another VolumeAttributesClass is made in place by the driver', withoutNodes, () =>
    survivesAttributeChange(world(), 'loop'),
  );

  test(
    'a class without expansion and a driver without snapshots are refused as the caller tolerates it, and the disk is intact',
    withoutNodes,
    async () => {
      const { vm, disk } = await filledDisk(world(), 'loop-plain');
      const cloud = world().cloud;
      await assert.rejects(
        snapshotDisk(cloud, { diskCid: disk, metadata: {} }),
        refused('NOT_IMPLEMENTED', /no default VolumeSnapshotClass/u),
      );
      await detachDisk(cloud, { vmCid: vm, diskCid: disk });
      await assert.rejects(
        resizeDisk(cloud, { diskCid: disk, sizeMiB: 64 }),
        refused('NOT_SUPPORTED', /allowVolumeExpansion/u),
      );
      await assert.rejects(
        updateDisk(cloud, { diskCid: disk, sizeMiB: 32, cloudProperties: { storage_class: 'loop' } }),
        refused('NOT_SUPPORTED', /no driver copies that/u),
      );
      await assert.rejects(
        updateDisk(cloud, {
          diskCid: disk,
          sizeMiB: 32,
          cloudProperties: { storage_class: 'loop-plain', volume_attributes_class: 'loop-fast' },
        }),
        refused('NOT_SUPPORTED', /"loop-fast" is of driver/u),
      );
      await assertUntouched(world(), vm, disk, 'loop-plain');
      await endDisk(world(), { vm, disk });
    },
  );

  test(
    'a copy by a driver that can neither clone nor snapshot is NOT_SUPPORTED at the deadline and rolled back; the disk is intact',
    withoutNodes,
    async () => {
      const { vm, disk } = await filledDisk(world(), 'loop-plain');
      await detachDisk(world().cloud, { vmCid: vm, diskCid: disk });
      const withShortDeadlines = world().cloudWith({}, { deadlines: { update_disk: 10, release: 2 } });
      await assert.rejects(
        updateDisk(withShortDeadlines, {
          diskCid: disk,
          sizeMiB: 64,
          cloudProperties: { storage_class: 'loop-plain' },
        }),
        refused('NOT_SUPPORTED', /the copy was rolled back/u),
      );
      await assertUntouched(world(), vm, disk, 'loop-plain');
      await endDisk(world(), { vm, disk });
    },
  );

  test(
    'a missing class, and attributes that the driver does not support, are NOT_SUPPORTED and rolled back; the disk is intact',
    withoutNodes,
    async () => {
      const { vm, disk } = await filledDisk(world(), 'loop');
      const cloud = world().cloud;
      await detachDisk(cloud, { vmCid: vm, diskCid: disk });
      await assert.rejects(
        updateDisk(cloud, { diskCid: disk, sizeMiB: 32, cloudProperties: { storage_class: 'none-such' } }),
        refused('NOT_SUPPORTED', /no storage class "none-such"/u),
      );
      await assert.rejects(
        updateDisk(cloud, {
          diskCid: disk,
          sizeMiB: 32,
          cloudProperties: { storage_class: 'loop', volume_attributes_class: 'none-such' },
        }),
        refused('NOT_SUPPORTED', /no VolumeAttributesClass "none-such"/u),
      );
      await assert.rejects(
        updateDisk(cloud, {
          diskCid: disk,
          sizeMiB: 32,
          cloudProperties: { storage_class: 'loop', volume_attributes_class: 'loop-impossible' },
        }),
        refused('NOT_SUPPORTED', /cannot do VolumeAttributesClass "loop-impossible".*iops cannot be/su),
      );
      await assertUntouched(world(), vm, disk, 'loop');
      await endDisk(world(), { vm, disk });
    },
  );
});

/**
 * Asserts that class and size are unchanged, that there is no copy, and that the content can be read. Leaves
 * the disk detached.
 */
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
  await assertCanary(world, { vm, disk });
  await detachDisk(world.cloud, { vmCid: vm, diskCid: disk });
}
