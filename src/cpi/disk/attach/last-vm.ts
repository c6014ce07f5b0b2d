import type { Pod } from '../../../kubernetes/pod.ts';
import { annotation, label } from '../../labels.ts';
import type { PersistentVolumeClaim } from '../claim.ts';
import { vmCidOf } from './attachments.ts';

/** The VM of the strategy `hot` that the last attach_disk gave a disk to. */
export interface LastVm {
  readonly namespace: string;
  readonly cid: string;
  /** Of its pod. */
  readonly uid: string;
}

/** The annotation of a claim that has this attachment. Neither a namespace nor a cid nor a uid contains a slash. */
export const lastVmWords = (attachment: Pod): string =>
  [
    attachment.metadata.annotations?.[annotation.vmNamespace] ?? '',
    vmCidOf(attachment),
    attachment.metadata.annotations?.[annotation.vmUid] ?? '',
  ].join('/');

/**
 * The VM that may have a disk mounted even if the disk has no attachment: the last attach_disk gave it the disk, and no
 * detach_disk has taken it out since. Undefined also for a disk that an earlier version attached, and for one that a VM of the strategy
 * `recreate` was given since. Pure. Model: hot.pml
 */
export function lastVm({ metadata }: PersistentVolumeClaim): LastVm | undefined {
  const { annotations = {}, labels = {} } = metadata;
  if (annotations[annotation.detachedFrom] !== undefined || labels[label.vmId] !== undefined)
    return undefined;
  const [namespace, cid, uid] = annotations[annotation.attachedTo]?.split('/') ?? [];
  if (namespace === undefined || cid === undefined || uid === undefined) return undefined;
  return { namespace, cid, uid };
}

/** True if that VM is `lastVm`. Pure. */
export const wasGivenTo = (claim: PersistentVolumeClaim, vm: Pod): boolean =>
  lastVm(claim)?.uid === vm.metadata.uid;

/** True if the last detach_disk took the disk out of that VM, and no attach_disk came after it. Pure. */
export const wasDetachedFrom = ({ metadata }: PersistentVolumeClaim, vm: Pod): boolean =>
  vm.metadata.uid !== undefined && metadata.annotations?.[annotation.detachedFrom] === vm.metadata.uid;

/** True if an attach_disk has given that VM the disk after the one with that mark, and no detach_disk has taken it out since. Pure. */
export const wasGivenAgain = (
  claim: PersistentVolumeClaim,
  vmUid: string | undefined,
  mark: number,
): boolean => markOf(claim) !== mark && lastVm(claim)?.uid === vmUid;

/** The mark of the last attach_disk under this strategy; 0 without one. Pure. */
export function markOf(claim: PersistentVolumeClaim | undefined): number {
  const words = claim?.metadata.annotations?.[annotation.attachment] ?? '';
  return /^\d{1,15}$/u.test(words) ? Number(words) : 0;
}
