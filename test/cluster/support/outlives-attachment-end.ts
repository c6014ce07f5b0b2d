import type { ClusterWorld, NewVm } from './cluster-world.ts';
import { assertWhole } from './assert-whole.ts';
import { type DiskSubject, writingVm } from './disk-subject.ts';

export interface EndOfAttachment {
  /** Ends the attachment pod while a job writes to the disk. */
  readonly end: (pod: string) => Promise<unknown>;
  /** Runs after that, while the pod may still exist. */
  readonly meanwhile?: (subject: DiskSubject) => Promise<void>;
  /** Runs when the pod is deleted. */
  readonly after?: (subject: DiskSubject) => Promise<void>;
}

/**
 * Ends an attachment pod from outside while a job writes. The disk must be intact on another node afterwards.
 */
export async function outlivesAttachmentEnd(
  world: ClusterWorld,
  { end, meanwhile, after }: EndOfAttachment,
  vmOptions: NewVm = {},
): Promise<DiskSubject> {
  const subject = await writingVm(world, ['loop'], vmOptions);
  const { vm, disks } = subject;
  const attachment = `attach-${disks[0] ?? ''}`;
  await end(attachment);
  await meanwhile?.(subject);
  await world.untilGone(attachment);
  await after?.(subject);
  await assertWhole(world, disks, { node: await world.otherNode(vm) });
  return subject;
}
