import assert from 'node:assert/strict';
import type { CallContext } from '../../../src/cpi/call.ts';
import { detachDisk } from '../../../src/cpi/disk/detach-disk.ts';
import { assertIntact } from './assert-intact.ts';
import type { ClusterWorld, NewVm } from './cluster-world.ts';
import {
  type DiskCreation,
  type WritingVm,
  stopWriting,
  storeOf,
  createWritingVm,
  fillNewDisk,
  startWriting,
} from './disk-setup.ts';
import { isProductError } from '../../../src/errors/product-error.ts';
import { getDisks } from '../../../src/cpi/disk/get-disks.ts';
import { deleteVm } from '../../../src/cpi/vm/delete-vm.ts';
import { leakMount } from './break-attachment.ts';
import { until } from '../../support/until.ts';
import type { DiskClass } from './cluster-under-test.ts';
import { hubWatcher } from './vm-actions.ts';

export interface DetachInUse extends DiskCreation {
  /** Calls detach_disk while the job writes. The default is one call of the CPI's method. */
  readonly ask?: (cloud: CallContext, subject: WritingVm) => Promise<unknown>;
  /** Runs before detach_disk. */
  readonly before?: (subject: WritingVm) => Promise<void>;
  /** Runs after detach_disk was rejected. */
  readonly refused?: (subject: WritingVm) => Promise<void>;
  /** Runs when the job has ended, before the disk is detached again. */
  readonly stopped?: (subject: WritingVm) => Promise<void>;
  /** Detaches the disk after the job has ended. The default is detach_disk. */
  readonly detach?: (subject: WritingVm) => Promise<unknown>;
}

export interface DetachedInUse extends WritingVm {
  /** True if the first detach_disk was rejected because the job was writing. */
  readonly isRefused: boolean;
}

/**
 * Calls detach_disk for a disk that a job writes to. Whether it rejects or not, the disk must be intact on
 * another node afterwards.
 */
export async function survivesDetach(
  world: ClusterWorld,
  { ask, before, refused, stopped, detach, ...coming }: DetachInUse,
  vmOptions: NewVm = {},
): Promise<DetachedInUse> {
  const { cloud = world.cloud } = vmOptions;
  const subject = await createWritingVm(world, ['loop'], vmOptions, coming);
  const { vm, disks } = subject;
  await before?.(subject);
  const isRefused = await isBusy(
    ask?.(cloud, subject) ?? detachDisk(cloud, { vmCid: vm, diskCid: disks[0] ?? '' }),
  );
  if (isRefused) {
    await refused?.(subject);
    await stopWriting(world, vm, storeOf(0));
    await stopped?.(subject);
    await (detach?.(subject) ?? detachDisk(cloud, { vmCid: vm, diskCid: disks[0] ?? '' }));
  }
  await assertIntact(world, disks, { node: await world.otherNode(vm) });
  return { ...subject, isRefused };
}

/** Returns true if detach_disk rejects because the disk is in use. Any other error is thrown. */
export async function isBusy(detached: Promise<unknown>): Promise<boolean> {
  try {
    await detached;
    return false;
  } catch (error) {
    if (isProductError(error, 'DISK_BUSY')) return true;
    throw error;
  }
}

/**
 * Attaches two disks to a VM, the second while a job writes to the first, and detaches them while jobs write
 * to both. Whether that is rejected or not, they must be intact on another node afterwards. `detached` runs
 * when the VM has no disk any more.
 */
export async function survivesDetachOfOneDisk(
  world: ClusterWorld,
  vm: string,
  { cloud = world.cloud, detached }: Pick<NewVm, 'cloud'> & { readonly detached?: () => Promise<void> },
): Promise<DetachedInUse> {
  const disks: string[] = [];
  for (const [index, storageClass] of (['loop', 'loop-wait'] as const).entries()) {
    const mountPoint = storeOf(index);
    disks.push(await fillNewDisk(world, vm, { storageClass, mountPoint, cloud }));
    await startWriting(world, vm, mountPoint);
  }
  assert.deepEqual((await getDisks(cloud, { vmCid: vm })).toSorted(), disks.toSorted());
  const refused: string[] = [];
  for (const [index, disk] of disks.entries()) {
    if (!(await isBusy(detachDisk(cloud, { vmCid: vm, diskCid: disk })))) continue;
    refused.push(disk);
    await stopWriting(world, vm, storeOf(index));
    await detachDisk(cloud, { vmCid: vm, diskCid: disk });
  }
  assert.deepEqual(await getDisks(cloud, { vmCid: vm }), []);
  await detached?.();
  await assertIntact(world, disks, { node: await world.otherNode(vm) });
  return { vm, disks, isRefused: refused.length === disks.length };
}

export interface AttachmentEnd {
  /** Ends the attachment pod while a job writes to the disk. */
  readonly end: (pod: string) => Promise<unknown>;
  /** Runs after that, while the pod may still exist. */
  readonly meanwhile?: (subject: WritingVm) => Promise<void>;
  /** Runs when the pod is deleted. */
  readonly after?: (subject: WritingVm) => Promise<void>;
}

/**
 * Ends an attachment pod from outside while a job writes. The disk must be intact on another node afterwards.
 */
export async function survivesAttachmentEnd(
  world: ClusterWorld,
  { end, meanwhile, after }: AttachmentEnd,
  vmOptions: NewVm = {},
): Promise<WritingVm> {
  const subject = await createWritingVm(world, ['loop'], vmOptions);
  const { vm, disks } = subject;
  const attachment = `attach-${disks[0] ?? ''}`;
  await end(attachment);
  await meanwhile?.(subject);
  await world.untilGone(attachment);
  await after?.(subject);
  await assertIntact(world, disks, { node: await world.otherNode(vm) });
  return subject;
}

/**
 * Deletes a VM's pod (`remove`) while a job writes to a disk whose attachment pod is deleted and has left its
 * mount in the hub. delete_vm must end the pod, and the disk must be intact on another node afterwards.
 */
export async function survivesLeakedMount(
  world: ClusterWorld,
  remove: (vm: string) => Promise<unknown>,
  vmOptions: NewVm = {},
): Promise<void> {
  const subject = await createWritingVm(world, ['loop'], vmOptions);
  const { vm, disks } = subject;
  const other = await world.otherNode(vm);
  await leakMount(world, subject);
  await remove(vm);
  await deleteVm(world.cloud, { vmCid: vm });
  // The pod that delete_vm created to unmount the leftover mount.
  await world.untilGone(`attach-${vm}`);
  await assertIntact(world, disks, { node: other });
}

interface VmDeletion {
  /** The classes of the disks, one each. */
  readonly classes: readonly DiskClass[];
  /** Ends the VM's pod while jobs write to its disks. */
  readonly end: (vm: string) => Promise<unknown>;
  /** Seconds that the VM may take to end and its attachment pods to unmount its disks. */
  readonly withinSeconds: number;
}

/**
 * Ends a VM's pod from outside while jobs write. Asserts that it ends soon and that its disks are intact on
 * another node.
 */
export async function survivesVmDeletion(
  world: ClusterWorld,
  { classes, end, withinSeconds }: VmDeletion,
  vmOptions: NewVm = {},
): Promise<void> {
  const { vm, disks } = await createWritingVm(world, classes, vmOptions);
  const other = await world.otherNode(vm);
  // The nodes of a foreign cluster are not accessible.
  const isFree = world.cluster.nodes.length > 0 ? await hubWatcher(world, vm) : () => Promise.resolve(true);
  const start = Date.now();
  const seconds = (): number => (Date.now() - start) / 1000;
  const free = until('the hub to be free', isFree, withinSeconds * 1000 + 60_000).then(seconds);
  const [freeAfter] = await Promise.all([free, end(vm)]);
  assert.ok(freeAfter < withinSeconds, `its disks were in it ${freeAfter} s after it was asked to go`);
  // A kubelet that found a disk mounted in the hub tries again with exponential back-off: each delay is twice
  // the previous one.
  const goneWithin = 2 * withinSeconds + 20;
  await world.untilGone(vm, goneWithin * 1000);
  assert.ok(seconds() < goneWithin, `the pod was there ${seconds()} s after it was asked to go`);
  await deleteVm(world.cloud, { vmCid: vm });
  for (const disk of disks) await world.untilGone(`attach-${disk}`);
  await assertIntact(world, disks, { node: other });
}
