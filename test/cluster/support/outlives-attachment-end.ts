import type { ClusterWorld, NewVm } from './cluster-world.ts';
import { assertWhole } from './assert-whole.ts';
import { type DiskSubject, writingVm } from './disk-subject.ts';

export interface EndOfAttachment {
  /** Has the attachment's pod end while a job writes to the disk. */
  readonly end: (pod: string) => Promise<unknown>;
  /** After that, while the pod may still be there. */
  readonly meanwhile?: (subject: DiskSubject) => Promise<void>;
  /** When it has gone. */
  readonly after?: (subject: DiskSubject) => Promise<void>;
}

/** An attachment ends by somebody else's hand while a job writes: the disk is whole on another node then. */
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
