import assert from 'node:assert/strict';
import { attachDisk } from '../../../src/cpi/disk/attach-disk.ts';
import { deleteDisk } from '../../../src/cpi/disk/delete-disk.ts';
import { deleteVm } from '../../../src/cpi/vm/delete-vm.ts';
import type { DiskClass } from './cluster-under-test.ts';
import type { ClusterWorld } from './cluster-world.ts';

export interface FilledDisk {
  readonly vm: string;
  readonly disk: string;
  readonly hint: string;
}

/** Creates a VM with an attached disk, whose file `canary` contains the disk's cid. */
export async function filledDisk(world: ClusterWorld, storageClass: DiskClass): Promise<FilledDisk> {
  const vm = await world.newVm();
  const disk = await world.newDisk(storageClass);
  const hint = await attachDisk(world.cloud, [vm, disk]);
  await world.inVm(vm, `echo ${disk} > ${hint}/canary && sync -f ${hint}`);
  return { vm, disk, hint };
}

/** Attaches the disk if necessary and asserts that it has the expected content, by default its own cid. */
export async function assertCanary(
  world: ClusterWorld,
  { vm, disk }: Pick<FilledDisk, 'vm' | 'disk'>,
  written = disk,
): Promise<void> {
  const hint = await attachDisk(world.cloud, [vm, disk]);
  const { stdout, stderr } = await world.exec(vm, `cat ${hint}/canary`);
  assert.equal(stdout, `${written}\n`, `the disk has lost its content: ${stdout}${stderr}`);
}

export async function endDisk(
  world: ClusterWorld,
  { vm, disk }: Pick<FilledDisk, 'vm' | 'disk'>,
): Promise<void> {
  await deleteVm(world.cloud, [vm]);
  await deleteDisk(world.cloud, [disk]);
}
