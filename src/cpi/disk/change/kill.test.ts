import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KubernetesObject } from '../../../kubernetes/object.ts';
import {
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  volumeAttributesClasses,
  volumeSnapshotClasses,
  volumeSnapshots,
} from '../../../kubernetes/resources.ts';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  VolumeAttributesClass,
} from '../../../kubernetes/volume.ts';
import type { Verb } from '../../cloud.ts';
import { annotation, label } from '../../labels.ts';
import { deleteSnapshot } from '../../snapshot/delete-snapshot.ts';
import { snapshotDisk } from '../../snapshot/snapshot-disk.ts';
import { Crash, crashingApi } from '../../testing/crashing-api.ts';
import { storageCloud } from '../../testing/storage-cloud.ts';
import type { StorageCloud } from '../../testing/storage-cloud.ts';
import { createVmArguments, namespace, vmCidOfTest as vmCid } from '../../testing/test-cloud.ts';
import { createVm } from '../../vm/create-vm.ts';
import { attachDisk } from '../attach-disk.ts';
import { createDisk } from '../create-disk.ts';
import { deleteDisk } from '../delete-disk.ts';
import { detachDisk } from '../detach-disk.ts';
import { hasDisk } from '../has-disk.ts';
import { resizeDisk } from '../resize-disk.ts';
import { updateDisk } from '../update-disk.ts';

const claimOf = ({ api }: StorageCloud, name: string): Promise<PersistentVolumeClaim> =>
  api.get({ resource: persistentVolumeClaims, namespace, name });

async function boundDisk(world: StorageCloud): Promise<string> {
  const cid = await createDisk(world.cloud, [64, { storage_class: 'now' }, null]);
  while ((await claimOf(world, cid)).status?.phase !== 'Bound') await world.cloud.clock.sleep(5);
  await world.api.create<VolumeAttributesClass>(volumeAttributesClasses, {
    metadata: { name: 'open' },
    driverName: 'bosh-kubernetes.io/local',
    parameters: { permissions: '0755' },
  });
  return cid;
}

async function names({ api }: StorageCloud): Promise<string[]> {
  const lists = await Promise.all(
    [persistentVolumeClaims, volumeSnapshots, pods].map((resource) =>
      api.list<KubernetesObject>(resource, { namespace }),
    ),
  );
  return lists.flatMap(({ items }) => items.map(({ metadata }) => metadata.name ?? ''));
}

/** Where the data of a disk was copied from in the end: the volume that was filled by its owner. */
async function originOf(world: StorageCloud, disk: string): Promise<string> {
  let name = (await claimOf(world, disk)).spec.volumeName ?? '';
  for (let from = world.provisioner.sources.get(name); from !== undefined;) {
    name = from;
    from = world.provisioner.sources.get(name);
  }
  return name;
}

/** Kills a verb around its n-th write; false where it has fewer. */
async function kill(world: StorageCloud, verb: Verb, args: unknown[], moment: Moment): Promise<boolean> {
  const dying = { ...world.cloud, api: crashingApi(world.api, moment.write, moment.when) };
  try {
    await verb(dying, args);
    return false;
  } catch (error) {
    if (error instanceof Crash) return true;
    throw error;
  }
}

interface Moment {
  readonly write: number;
  readonly when: 'before' | 'after';
}

interface Story {
  readonly name: string;
  /** How many writes one call makes. */
  readonly writes: number;
  readonly run: (world: StorageCloud, moment: Moment) => Promise<boolean>;
}

const stories: Story[] = [
  {
    name: 'resize_disk',
    writes: 1,
    run: async (world, moment) => {
      const args = [await boundDisk(world), 128];
      const killed = await kill(world, resizeDisk, args, moment);
      await resizeDisk(world.cloud, args);
      assert.equal((await claimOf(world, String(args[0]))).status?.capacity?.['storage'], '128Mi');
      return killed;
    },
  },
  {
    name: 'update_disk in place',
    writes: 3,
    run: async (world, moment) => {
      const disk = await boundDisk(world);
      const type = { storage_class: 'now', volume_attributes_class: 'open', snapshot_class: 'local' };
      const killed = await kill(world, updateDisk, [disk, 128, type], moment);
      assert.equal(await updateDisk(world.cloud, [disk, 128, type]), null);
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
      const killed = await kill(world, snapshotDisk, [disk, {}], moment);
      await snapshotDisk(world.cloud, [disk, {}]);
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
      const snapshot = await snapshotDisk(world.cloud, [await boundDisk(world), {}]);
      const killed = await kill(world, deleteSnapshot, [snapshot], moment);
      await deleteSnapshot(world.cloud, [snapshot]);
      assert.deepEqual((await world.api.list(volumeSnapshots)).items, []);
      return killed;
    },
  },
  ...(['a snapshot', 'a clone'] as const).flatMap((means) =>
    (['other', 'later'] as const).flatMap((target) => copies(means, target)),
  ),
];

/** What a director may do after an update_disk that was killed: call it again, go on without it, delete the disk. */
function copies(means: 'a snapshot' | 'a clone', target: 'other' | 'later'): Story[] {
  const type = { storage_class: target };
  const writes = 3 + (means === 'a snapshot' ? 2 : 0) + (target === 'later' ? 2 : 0);
  const begin = async (
    world: StorageCloud,
    moment: Moment,
  ): Promise<{ disk: string; origin: string; killed: boolean }> => {
    if (means === 'a clone') await world.api.delete({ resource: volumeSnapshotClasses, name: 'local' });
    const disk = await boundDisk(world);
    const origin = await originOf(world, disk);
    const killed = await kill(world, updateDisk, [disk, 128, type], moment);
    assert.equal(await hasDisk(world.cloud, [disk]), true);
    return { disk, origin, killed };
  };
  const finish = async (world: StorageCloud, disk: string, origin: string): Promise<void> => {
    const copy = await updateDisk(world.cloud, [disk, 128, type]);
    assert.ok(copy !== null);
    assert.equal(await originOf(world, copy), origin);
    assert.equal((await claimOf(world, copy)).spec.storageClassName, target);
    assert.deepEqual(
      (await names(world)).filter((name) => name !== vmCid),
      [copy],
    );
    assert.equal(await updateDisk(world.cloud, [copy, 128, type]), null);
  };
  const name = `update_disk by ${means} to class ${target}`;
  return [
    {
      name: `${name}, then called again`,
      writes,
      run: async (world, moment) => {
        const { disk, origin, killed } = await begin(world, moment);
        await finish(world, disk, origin);
        return killed;
      },
    },
    {
      name: `${name}, then attached and written to, then called again`,
      writes,
      run: async (world, moment) => {
        await createVm(world.cloud, createVmArguments());
        const { disk, killed } = await begin(world, moment);
        const before = new Set(world.provisioner.sources.keys());
        await attachDisk(world.cloud, [vmCid, disk]);
        const [holder] = (await names(world)).filter((one) => one.startsWith('attach-'));
        const written = await claimOf(world, (holder ?? '').replace('attach-', ''));
        await detachDisk(world.cloud, [vmCid, disk]);
        const copy = (await updateDisk(world.cloud, [disk, 128, type])) ?? disk;
        const volume = (await claimOf(world, copy)).spec.volumeName ?? '';
        // either the copy is what was written to, or it was made after the writing
        assert.ok(volume === written.spec.volumeName || !before.has(volume));
        return killed;
      },
    },
    {
      name: `${name}, then deleted`,
      writes,
      run: async (world, moment) => {
        const { disk, killed } = await begin(world, moment);
        await deleteDisk(world.cloud, [disk]);
        assert.equal(await hasDisk(world.cloud, [disk]), false);
        assert.deepEqual(await names(world), []);
        await untilNoVolumes(world);
        return killed;
      },
    },
    {
      name: `${name}, another wish after it`,
      writes,
      run: async (world, moment) => {
        const { disk, origin, killed } = await begin(world, moment);
        const copy = await updateDisk(world.cloud, [disk, 256, { storage_class: target }]);
        assert.ok(copy !== null);
        assert.equal(await originOf(world, copy), origin);
        assert.equal((await claimOf(world, copy)).spec.resources?.requests?.['storage'], '256Mi');
        assert.deepEqual(await names(world), [copy]);
        return killed;
      },
    },
  ];
}

/** The class deletes volumes a moment after their claims. */
async function untilNoVolumes({ api, cloud }: StorageCloud): Promise<void> {
  for (;;) {
    const { items } = await api.list<PersistentVolume>(persistentVolumes);
    const held = items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
    if (held.length === 0) return;
    await cloud.clock.sleep(5);
  }
}

for (const { name, writes, run } of stories) {
  test(`${name}: killed before and after each of its ${writes} writes`, async (t) => {
    let kills = 0;
    for (const when of ['before', 'after'] as const) {
      for (let write = 1; await run(await storageCloud(t), { write, when }); write += 1) kills += 1;
    }
    assert.equal(kills, 2 * writes);
  });
}
