import assert from 'node:assert/strict';
import { detachDisk } from '../../../src/cpi/disk/detach-disk.ts';
import { resizeDisk } from '../../../src/cpi/disk/resize-disk.ts';
import type { DiskClass } from './cluster-under-test.ts';
import type { ClusterWorld } from './cluster-world.ts';
import { assertCanary, endDisk, filledDisk } from './filled-disk.ts';

/** Calls resize_disk. The disk must be larger and have its data. */
export async function outlivesResize(world: ClusterWorld, storageClass: DiskClass): Promise<void> {
  const filled = await filledDisk(world, storageClass);
  const { vm, disk } = filled;
  await detachDisk(world.cloud, [vm, disk]);
  await resizeDisk(world.cloud, [disk, 64]);
  await assertCanary(world, filled);
  const size = await world.inVm(vm, `df --output=size -m /warden-cpi-dev/disks/${disk} | tail -n 1`);
  assert.ok(Number(size) > 45, `the file system has ${size.trim()} MiB`);
  await detachDisk(world.cloud, [vm, disk]);
  await endDisk(world, filled);
}
