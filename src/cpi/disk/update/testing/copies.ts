import assert from 'node:assert/strict';
import type { KubernetesObject } from '../../../../kubernetes/object.ts';
import {
  persistentVolumeClaims,
  persistentVolumes,
  pods,
  volumeSnapshotClasses,
  volumeSnapshots,
} from '../../../../kubernetes/resources.ts';
import type { PersistentVolume } from '../../../../kubernetes/types/storage.ts';
import type { StorageCloud } from '../../../testing/storage-cloud.ts';
import { createVmRequest, namespace, vmCidOfTest as vmCid } from '../../../testing/test-cloud.ts';
import { createVm } from '../../../vm/create-vm.ts';
import { attachDisk } from '../../attach-disk.ts';
import { deleteDisk } from '../../delete-disk.ts';
import { detachDisk } from '../../detach-disk.ts';
import { hasDisk } from '../../has-disk.ts';
import { updateDisk } from '../../update-disk.ts';
import { boundDisk, claimOf, kill, type Moment, type Story } from './killed-changes.ts';

async function names({ api }: StorageCloud): Promise<string[]> {
  const lists = await Promise.all(
    [persistentVolumeClaims, volumeSnapshots, pods].map((resource) =>
      api.list<KubernetesObject>(resource, { namespace }),
    ),
  );
  return lists.flatMap(({ items }) => items.map(({ metadata }) => metadata.name));
}

/** Returns the volume that the data of a disk was first copied from: the one that its owner filled. */
async function originOf(world: StorageCloud, disk: string): Promise<string> {
  let name = (await claimOf(world, disk)).spec.volumeName ?? '';
  for (let from = world.provisioner.sources.get(name); from !== undefined;) {
    name = from;
    from = world.provisioner.sources.get(name);
  }
  return name;
}

/**
 * The calls that a director may make after a killed update_disk: the same again, others without it, or the
 * deletion of the disk.
 */
export function copies(means: 'a snapshot' | 'a clone', target: 'other' | 'later'): Story[] {
  const type = { storage_class: target };
  const writes = 5 + (means === 'a snapshot' ? 2 : 0) + (target === 'later' ? 2 : 0);
  const begin = async (
    world: StorageCloud,
    moment: Moment,
  ): Promise<{ disk: string; origin: string; killed: boolean }> => {
    if (means === 'a clone') await world.api.delete({ resource: volumeSnapshotClasses, name: 'local' });
    const disk = await boundDisk(world);
    const origin = await originOf(world, disk);
    const killed = await kill(
      world,
      updateDisk,
      { diskCid: disk, sizeMiB: 128, cloudProperties: type },
      moment,
    );
    assert.equal(await hasDisk(world.cloud, { diskCid: disk }), true);
    return { disk, origin, killed };
  };
  const finish = async (world: StorageCloud, disk: string, origin: string): Promise<void> => {
    const copy = await updateDisk(world.cloud, { diskCid: disk, sizeMiB: 128, cloudProperties: type });
    assert.ok(copy !== null);
    assert.equal(await originOf(world, copy), origin);
    assert.equal((await claimOf(world, copy)).spec.storageClassName, target);
    assert.deepEqual(
      (await names(world)).filter((name) => name !== vmCid),
      [copy],
    );
    assert.equal(await updateDisk(world.cloud, { diskCid: copy, sizeMiB: 128, cloudProperties: type }), null);
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
        await createVm(world.cloud, createVmRequest());
        const { disk, killed } = await begin(world, moment);
        const before = new Set(world.provisioner.sources.keys());
        await attachDisk(world.cloud, { vmCid, diskCid: disk });
        const [holder] = (await names(world)).filter((one) => one.startsWith('attach-'));
        const written = await claimOf(world, (holder ?? '').replace('attach-', ''));
        await detachDisk(world.cloud, { vmCid, diskCid: disk });
        const copy =
          (await updateDisk(world.cloud, { diskCid: disk, sizeMiB: 128, cloudProperties: type })) ?? disk;
        const volume = (await claimOf(world, copy)).spec.volumeName ?? '';
        // either the replacement is the volume that was written to, or it was made after the write
        assert.ok(volume === written.spec.volumeName || !before.has(volume));
        return killed;
      },
    },
    {
      name: `${name}, then deleted`,
      writes,
      run: async (world, moment) => {
        const { disk, killed } = await begin(world, moment);
        await deleteDisk(world.cloud, { diskCid: disk });
        assert.equal(await hasDisk(world.cloud, { diskCid: disk }), false);
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
        const copy = await updateDisk(world.cloud, {
          diskCid: disk,
          sizeMiB: 256,
          cloudProperties: { storage_class: target },
        });
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
