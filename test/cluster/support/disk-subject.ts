import assert from 'node:assert/strict';
import { attachDisk } from '../../../src/cpi/disk/attach-disk.ts';
import { deleteDisk } from '../../../src/cpi/disk/delete-disk.ts';
import { deleteVm } from '../../../src/cpi/vm/delete-vm.ts';
import type { ClusterWorld, NewVm } from './cluster-world.ts';

export interface DiskSubject {
  readonly vm: string;
  readonly disks: readonly string[];
}

export const storeOf = (index: number): string =>
  index === 0 ? '/var/vcap/store' : `/var/vcap/store-${index}`;

/**
 * A VM with a disk of each class, bound as the agent binds it, and on each a canary and a job that appends numbered
 * lines and syncs each.
 */
export async function writingVm(
  world: ClusterWorld,
  classes: readonly string[],
  vmOptions: NewVm = {},
): Promise<DiskSubject> {
  const vm = await world.newVm(vmOptions);
  const disks: string[] = [];
  for (const [index, storageClass] of classes.entries()) {
    const disk = await world.newDisk(storageClass);
    const hint = await attachDisk(world.cloud, [vm, disk]);
    const place = storeOf(index);
    await world.inVm(
      vm,
      `mkdir -p ${place} && mount --bind ${hint} ${place} && echo ${disk} > ${place}/canary && sync -f ${place}`,
    );
    disks.push(disk);
  }
  for (const index of disks.keys()) await startWriting(world, vm, storeOf(index));
  return { vm, disks };
}

/** The pid of the job is in /tmp, named after the folder. */
export async function startWriting(world: ClusterWorld, vm: string, place: string): Promise<void> {
  await world.inVm(
    vm,
    `(cd ${place} && exec setsid sh -c 'i=$(wc -l < log 2>/dev/null || echo 0)
      while :; do i=$((i + 1)); echo $i >> log; sync -d log; done') > /dev/null 2>&1 &
     echo $! > /tmp/pid${place.replaceAll('/', '-')}`,
  );
  await world.untilInVm(vm, `test -s ${place}/log`);
}

export async function stopWriting(world: ClusterWorld, vm: string, place: string): Promise<void> {
  const pid = `/tmp/pid${place.replaceAll('/', '-')}`;
  // with the shell its sync(1), which stands in the folder, too
  await world.inVm(
    vm,
    `group=$(cat ${pid}); kill -9 -$group; while kill -0 -$group 2>/dev/null; do sleep 0.05; done; umount ${place}`,
  );
}

/** The lines of the log count from 1 without a gap: a lost or doubled write shows. */
export const assertLog = `awk '$1 != NR { print "line " NR " is " $0; exit 1 }' log && test -s log`;

/** Another VM gets the disks and finds their content whole; then both are deleted. */
export async function assertWhole(
  world: ClusterWorld,
  disks: readonly string[],
  vmOptions: NewVm = {},
): Promise<void> {
  const vm = await world.newVm(vmOptions);
  for (const disk of disks) {
    const hint = await attachDisk(world.cloud, [vm, disk]);
    assert.equal(await world.inVm(vm, `cd ${hint} && cat canary && ${assertLog}`), `${disk}\n`);
  }
  await deleteVm(world.cloud, [vm]);
  for (const disk of disks) await deleteDisk(world.cloud, [disk]);
}
