import assert from 'node:assert/strict';
import { detachDisk } from '../../../src/cpi/disk/detach-disk.ts';
import { getDisks } from '../../../src/cpi/disk/get-disks.ts';
import { assertWhole } from './assert-whole.ts';
import type { ClusterWorld, NewVm } from './cluster-world.ts';
import { fillNewDisk, startWriting, stopWriting, storeOf } from './disk-subject.ts';
import { isBusy } from './is-busy.ts';
import type { DetachedInUse } from './outlives-detach.ts';

/**
 * Attaches two disks to a VM, the second while a job writes to the first, and detaches them while jobs write
 * to both. Whether that is rejected or not, they must be intact on another node afterwards. `detached` runs
 * when the VM has no disk any more.
 */
export async function outlivesTwoDisks(
  world: ClusterWorld,
  vm: string,
  { cloud = world.cloud, detached }: Pick<NewVm, 'cloud'> & { readonly detached?: () => Promise<void> },
): Promise<DetachedInUse> {
  const disks: string[] = [];
  for (const [index, storageClass] of (['loop', 'loop-wait'] as const).entries()) {
    const place = storeOf(index);
    disks.push(await fillNewDisk(world, vm, { storageClass, place, cloud }));
    await startWriting(world, vm, place);
  }
  assert.deepEqual((await getDisks(cloud, [vm])).toSorted(), disks.toSorted());
  const refused: string[] = [];
  for (const [index, disk] of disks.entries()) {
    if (!(await isBusy(detachDisk(cloud, [vm, disk])))) continue;
    refused.push(disk);
    await stopWriting(world, vm, storeOf(index));
    await detachDisk(cloud, [vm, disk]);
  }
  assert.deepEqual(await getDisks(cloud, [vm]), []);
  await detached?.();
  await assertWhole(world, disks, { node: await world.otherNode(vm) });
  return { vm, disks, isRefused: refused.length === disks.length };
}
