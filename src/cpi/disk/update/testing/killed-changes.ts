import assert from 'node:assert/strict';
import { test } from 'node:test';
import { persistentVolumeClaims, volumeAttributesClasses } from '../../../../kubernetes/resources.ts';
import type { PersistentVolumeClaim, VolumeAttributesClass } from '../../../../kubernetes/types/storage.ts';
import type { Verb } from '../../../call.ts';
import { Crash, crashingApi } from '../../../testing/crashing-api.ts';
import { storageCloud, type StorageCloud } from '../../../testing/storage-cloud.ts';
import { namespace } from '../../../testing/test-cloud.ts';
import { createDisk } from '../../create-disk.ts';

/** Returns the claim of a disk. */
export const claimOf = ({ api }: StorageCloud, name: string): Promise<PersistentVolumeClaim> =>
  api.get({ resource: persistentVolumeClaims, namespace, name });

/** Makes a disk with a bound volume, and a VolumeAttributesClass `open`. */
export async function boundDisk(world: StorageCloud): Promise<string> {
  const cid = await createDisk(world.cloud, { sizeMiB: 64, cloudProperties: { storage_class: 'now' } });
  while ((await claimOf(world, cid)).status?.phase !== 'Bound') await world.cloud.clock.sleep(5);
  await world.api.create<VolumeAttributesClass>(volumeAttributesClasses, {
    metadata: { name: 'open' },
    driverName: 'bosh-kubernetes.io/local',
    parameters: { permissions: '0755' },
  });
  return cid;
}

/** Kills a verb around its n-th write. Returns false if it has fewer writes. */
export async function kill<Request>(
  world: StorageCloud,
  verb: Verb<Request>,
  request: Request,
  moment: Moment,
): Promise<boolean> {
  const dying = { ...world.cloud, api: crashingApi(world.api, moment.write, moment.when) };
  try {
    await verb(dying, request);
    return false;
  } catch (error) {
    if (error instanceof Crash) return true;
    throw error;
  }
}

/** The write of a verb around which its process is killed. */
export interface Moment {
  readonly write: number;
  readonly when: 'before' | 'after';
}

/** The result of one verb for an operator, whenever its process is killed. */
export interface Story {
  readonly name: string;
  /** The number of writes of one call. */
  readonly writes: number;
  readonly run: (world: StorageCloud, moment: Moment) => Promise<boolean>;
}

/** Kills each story before and after each of its writes. */
export function testKilled(stories: readonly Story[]): void {
  for (const { name, writes, run } of stories) {
    test(`${name}: killed before and after each of its ${writes} writes`, async (t) => {
      let kills = 0;
      for (const when of ['before', 'after'] as const) {
        for (let write = 1; await run(await storageCloud(t), { write, when }); write += 1) kills += 1;
      }
      assert.equal(kills, 2 * writes);
    });
  }
}
