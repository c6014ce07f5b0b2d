import type { Pod } from '../../../kubernetes/types/pod.ts';
import { annotation, label } from '../../objects/labels.ts';
import type { PersistentVolumeClaim } from '../disks.ts';
import { vmCidOf } from './attachments.ts';

/** The VM of the strategy `hot` that the last attach_disk attached a disk to. */
export interface LastVm {
  readonly namespace: string;
  readonly cid: string;
  /** The uid of its pod. */
  readonly uid: string;
}

/**
 * Returns the claim's annotation for this attachment pod. Namespaces, cids and uids do not contain slashes.
 */
export const lastVmWords = (attachment: Pod): string =>
  [
    attachment.metadata.annotations?.[annotation.vmNamespace] ?? '',
    vmCidOf(attachment),
    attachment.metadata.annotations?.[annotation.vmUid] ?? '',
  ].join('/');

/**
 * Returns the VM that may have a disk mounted even if the disk has no attachment pod: the last attach_disk
 * attached it there, and no detach_disk has detached it since. Undefined also for a disk that an earlier
 * version attached, and for one that a VM of the strategy `recreate` got since. Model: hot.pml
 */
export function lastVm({ metadata }: PersistentVolumeClaim): LastVm | undefined {
  const { annotations = {}, labels = {} } = metadata;
  if (annotations[annotation.detachedFrom] !== undefined || labels[label.vmId] !== undefined)
    return undefined;
  const [namespace, cid, uid] = annotations[annotation.attachedTo]?.split('/') ?? [];
  if (namespace === undefined || cid === undefined || uid === undefined) return undefined;
  return { namespace, cid, uid };
}

/** Returns true if that VM is `lastVm`. */
export const wasGivenTo = (claim: PersistentVolumeClaim, vm: Pod): boolean =>
  lastVm(claim)?.uid === vm.metadata.uid;

/** Returns true if the last detach_disk detached the disk from that VM, and no attach_disk came after it. */
export const wasDetachedFrom = ({ metadata }: PersistentVolumeClaim, vm: Pod): boolean =>
  vm.metadata.uid !== undefined && metadata.annotations?.[annotation.detachedFrom] === vm.metadata.uid;

/**
 * Returns true if an attach_disk after the one with that mark has attached the disk to that VM, and no
 * detach_disk has detached it since.
 */
export const wasGivenAgain = (
  claim: PersistentVolumeClaim,
  vmUid: string | undefined,
  mark: number,
): boolean => markOf(claim) !== mark && lastVm(claim)?.uid === vmUid;

/** Returns the mark of the last attach_disk under this strategy; 0 if there was none. */
export function markOf(claim: PersistentVolumeClaim | undefined): number {
  const words = claim?.metadata.annotations?.[annotation.attachment] ?? '';
  return /^\d{1,15}$/u.test(words) ? Number(words) : 0;
}
