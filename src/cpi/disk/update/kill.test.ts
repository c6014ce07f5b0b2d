import assert from 'node:assert/strict';
import { volumeSnapshots } from '../../../kubernetes/resources.ts';
import { annotation, label } from '../../objects/labels.ts';
import { deleteSnapshot } from '../../snapshot/delete-snapshot.ts';
import { snapshotDisk } from '../../snapshot/snapshot-disk.ts';
import { resizeDisk } from '../resize-disk.ts';
import { updateDisk } from '../update-disk.ts';
import { copies } from './testing/copies.ts';
import { boundDisk, claimOf, kill, testKilled, type Story } from './testing/killed-changes.ts';

const stories: Story[] = [
  {
    name: 'resize_disk',
    writes: 1,
    run: async (world, moment) => {
      const request = { diskCid: await boundDisk(world), sizeMiB: 128 };
      const killed = await kill(world, resizeDisk, request, moment);
      await resizeDisk(world.cloud, request);
      assert.equal((await claimOf(world, request.diskCid)).status?.capacity?.['storage'], '128Mi');
      return killed;
    },
  },
  {
    name: 'update_disk in place',
    writes: 3,
    run: async (world, moment) => {
      const disk = await boundDisk(world);
      const type = { storage_class: 'now', volume_attributes_class: 'open', snapshot_class: 'local' };
      const killed = await kill(
        world,
        updateDisk,
        { diskCid: disk, sizeMiB: 128, cloudProperties: type },
        moment,
      );
      assert.equal(
        await updateDisk(world.cloud, { diskCid: disk, sizeMiB: 128, cloudProperties: type }),
        null,
      );
      const { status, metadata } = await claimOf(world, disk);
      assert.equal(status?.capacity?.['storage'], '128Mi');
      assert.equal(status.currentVolumeAttributesClassName, 'open');
      assert.equal(metadata.annotations?.[annotation.snapshotClass], 'local');
      return killed;
    },
  },
  {
    name: 'snapshot_disk',
    writes: 1,
    run: async (world, moment) => {
      const disk = await boundDisk(world);
      const killed = await kill(world, snapshotDisk, { diskCid: disk, metadata: {} }, moment);
      await snapshotDisk(world.cloud, { diskCid: disk, metadata: {} });
      const { items } = await world.api.list(volumeSnapshots);
      assert.ok(items.every(({ metadata }) => metadata.labels?.[label.unclaimed] === 'true'));
      assert.ok(items.length <= 2);
      return killed;
    },
  },
  {
    name: 'delete_snapshot',
    writes: 1,
    run: async (world, moment) => {
      const snapshot = await snapshotDisk(world.cloud, { diskCid: await boundDisk(world), metadata: {} });
      const killed = await kill(world, deleteSnapshot, { snapshotCid: snapshot }, moment);
      await deleteSnapshot(world.cloud, { snapshotCid: snapshot });
      assert.deepEqual((await world.api.list(volumeSnapshots)).items, []);
      return killed;
    },
  },
  // the other three kinds of copy: copies.crash.test.ts
  ...copies('a snapshot', 'other'),
];

testKilled(stories);
