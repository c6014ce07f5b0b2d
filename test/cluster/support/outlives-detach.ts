import type { CallContext } from '../../../src/cpi/cloud.ts';
import { detachDisk } from '../../../src/cpi/disk/detach-disk.ts';
import { assertWhole } from './assert-whole.ts';
import type { ClusterWorld, NewVm } from './cluster-world.ts';
import { type Coming, type DiskSubject, stopWriting, storeOf, writingVm } from './disk-subject.ts';
import { isBusy } from './is-busy.ts';

export interface DetachInUse extends Coming {
  /** How detach_disk is asked for while the job writes. */
  readonly ask?: (cloud: CallContext, subject: DiskSubject) => Promise<unknown>;
  /** Before detach_disk is asked for. */
  readonly before?: (subject: DiskSubject) => Promise<void>;
  /** When it has refused. */
  readonly refused?: (subject: DiskSubject) => Promise<void>;
  /** When the job has ended, before the disk is asked for again. */
  readonly stopped?: (subject: DiskSubject) => Promise<void>;
  /** How the disk goes then; detach_disk where nothing is said. */
  readonly detach?: (subject: DiskSubject) => Promise<unknown>;
}

export interface DetachedInUse extends DiskSubject {
  /** Whether the first detach_disk was refused, as the job was writing. */
  readonly isRefused: boolean;
}

/** detach_disk for a disk to which a job writes: whether it refuses or not, the disk is whole on another node then. */
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
