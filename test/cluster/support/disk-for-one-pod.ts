import assert from 'node:assert/strict';
import { claimReference, type PersistentVolumeClaim } from '../../../src/cpi/disk/disks.ts';
import { createDisk } from '../../../src/cpi/disk/create-disk.ts';
import type { ClusterWorld } from './cluster-world.ts';

/** Creates a disk for a VM. Only one pod may use its claim. */
export async function diskForOnePod(world: ClusterWorld, vm: string): Promise<string> {
  const properties = { ...world.diskProperties('loop'), access_mode: 'ReadWriteOncePod' };
  const disk = await createDisk(world.cloud, [32, properties, vm]);
  const { spec } = await world.api.get<PersistentVolumeClaim>(claimReference(world.cloud, disk));
  assert.deepEqual(spec.accessModes, ['ReadWriteOncePod']);
  return disk;
}
