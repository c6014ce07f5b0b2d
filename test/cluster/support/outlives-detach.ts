import type { CallContext } from '../../../src/cpi/call.ts';
import { detachDisk } from '../../../src/cpi/disk/detach-disk.ts';
import { assertWhole } from './assert-whole.ts';
import type { ClusterWorld, NewVm } from './cluster-world.ts';
import { type Coming, type DiskSubject, stopWriting, storeOf, writingVm } from './disk-subject.ts';
import { isBusy } from './is-busy.ts';

export interface DetachInUse extends Coming {
  /** Calls detach_disk while the job writes. The default is one call of the CPI's method. */
  readonly ask?: (cloud: CallContext, subject: DiskSubject) => Promise<unknown>;
  /** Runs before detach_disk. */
  readonly before?: (subject: DiskSubject) => Promise<void>;
  /** Runs after detach_disk was rejected. */
  readonly refused?: (subject: DiskSubject) => Promise<void>;
  /** Runs when the job has ended, before the disk is detached again. */
  readonly stopped?: (subject: DiskSubject) => Promise<void>;
  /** Detaches the disk after the job has ended. The default is detach_disk. */
  readonly detach?: (subject: DiskSubject) => Promise<unknown>;
}

export interface DetachedInUse extends DiskSubject {
  /** True if the first detach_disk was rejected because the job was writing. */
  readonly isRefused: boolean;
}

/**
 * Calls detach_disk for a disk that a job writes to. Whether it rejects or not, the disk must be intact on
 * another node afterwards.
 */
export async function outlivesDetach(
  world: ClusterWorld,
  { ask, before, refused, stopped, detach, ...coming }: DetachInUse,
  vmOptions: NewVm = {},
): Promise<DetachedInUse> {
  const { cloud = world.cloud } = vmOptions;
  const subject = await writingVm(world, ['loop'], vmOptions, coming);
  const { vm, disks } = subject;
  await before?.(subject);
  const isRefused = await isBusy(ask?.(cloud, subject) ?? detachDisk(cloud, [vm, disks[0]]));
  if (isRefused) {
    await refused?.(subject);
    await stopWriting(world, vm, storeOf(0));
    await stopped?.(subject);
    await (detach?.(subject) ?? detachDisk(cloud, [vm, disks[0]]));
  }
  await assertWhole(world, disks, { node: await world.otherNode(vm) });
  return { ...subject, isRefused };
}
