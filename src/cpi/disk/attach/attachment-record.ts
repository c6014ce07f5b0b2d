import type { CallContext } from '../../call.ts';
import { assertNotLocked, clearStaleLock } from './disk-lock.ts';
import { discardReplacement } from '../update/replacement.ts';
import { claimReference, findClaim, diskDeletedError, type PersistentVolumeClaim } from '../disks.ts';
import { isApiError } from '../../../kubernetes/client/api-error.ts';
import { conflictError } from '../../objects/objects.ts';
import type { Pod } from '../../../kubernetes/types/pod.ts';
import { annotation, label } from '../../objects/labels.ts';
import { vmCidOf, diskCidOf } from './attachments.ts';
import { ProductError } from '../../../errors/product-error.ts';
import { assertClaimsRetained } from './retained-claims.ts';

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
export const lastVmAnnotation = (attachment: Pod): string =>
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
export const wasAttachedTo = (claim: PersistentVolumeClaim, vm: Pod): boolean =>
  lastVm(claim)?.uid === vm.metadata.uid;

/** Returns true if the last detach_disk detached the disk from that VM, and no attach_disk came after it. */
export const wasDetachedFrom = ({ metadata }: PersistentVolumeClaim, vm: Pod): boolean =>
  vm.metadata.uid !== undefined && metadata.annotations?.[annotation.detachedFrom] === vm.metadata.uid;

/**
 * Returns true if an attach_disk after the one with that mark has attached the disk to that VM, and no
 * detach_disk has detached it since.
 */
export const wasAttachedAgain = (
  claim: PersistentVolumeClaim,
  vmUid: string | undefined,
  mark: number,
): boolean => markOf(claim) !== mark && lastVm(claim)?.uid === vmUid;

/** Returns the mark of the last attach_disk under this strategy; 0 if there was none. */
export function markOf(claim: PersistentVolumeClaim | undefined): number {
  const words = claim?.metadata.annotations?.[annotation.attachment] ?? '';
  return /^\d{1,15}$/u.test(words) ? Number(words) : 0;
}

const tries = 5;

/** Several controllers write to a claim in the moment in which it gets its volume. */
const markTries = 10;

/** The claim to mark. An error of `look` ends the call. */
export interface Marking {
  /** The claim as it was when the caller last checked whether another VM has the disk mounted. */
  readonly claim: PersistentVolumeClaim;
  /** Checks that again, if the claim has changed since. */
  readonly look: (now: PersistentVolumeClaim) => Promise<void>;
}

/**
 * Records the attachment on the claim. The attachment pod exists already. delete_disk and `recreate` read the
 * claim first, then look for attachment pods, then write with the resourceVersion that they read. So either
 * this patch makes their write conflict and they check again, or this patch comes later and this call sees
 * the result of their write. An update_disk that began after this call had read the claim is seen in the same
 * way, and its replacement is discarded. The patch has the resourceVersion of the claim that `look` checked:
 * another attach_disk may have attached the disk to its VM since, which may have it mounted although its
 * attachment pod was force-deleted. Returns the mark, a decimal number; each attach_disk writes a higher one.
 * Rejects if the disk is being deleted, and with DISK_ATTACHED_ELSEWHERE if an existing VM has it.
 * Model: hot.pml
 */
export async function recordAttachment(
  call: CallContext,
  attachment: Pod,
  marking: Marking,
): Promise<string> {
  const diskCid = marking.claim.metadata.name ?? '';
  const first = await raiseAttachment(call, attachment, marking);
  const marked = await removeDeletionMark(call, diskCid, first);
  await assertNotLocked(call, marked);
  await clearStaleLock(call, marked);
  await discardReplacement(call, marked);
  return String(markOf(first));
}

/**
 * Retries on conflicts: the scheduler and the volume binder write to the claim, too, as soon as the
 * attachment pod exists.
 */
async function raiseAttachment(
  call: CallContext,
  attachment: Pod,
  { claim, look }: Marking,
): Promise<PersistentVolumeClaim> {
  const { name: diskCid = '' } = claim.metadata;
  let seen = claim;
  for (let left = markTries; left > 0; left -= 1) {
    const { resourceVersion } = seen.metadata;
    const annotations = {
      [annotation.attachment]: String(markOf(seen) + 1),
      [annotation.attachedTo]: lastVmAnnotation(attachment),
      [annotation.detachedFrom]: null,
    };
    const patch = { metadata: { resourceVersion, labels: { [label.unclaimed]: null }, annotations } };
    try {
      return await call.api.patch<PersistentVolumeClaim>(claimReference(call, diskCid), patch);
    } catch (error) {
      if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
    }
    const now = await findClaim(call, diskCid);
    if (now === undefined || now.metadata.deletionTimestamp !== undefined)
      throw diskDeletedError(diskCid, 'was deleted meanwhile');
    await look(now);
    seen = now;
  }
  throw conflictError('DISK_NOT_ATTACHABLE', `disk '${diskCid}'`);
}

/**
 * Removes the annotation `deleting`, which a delete_disk leaves on the claim if it was killed, or has seen
 * the attachment pod in time. It must be removed before attach_disk returns: otherwise a later deletion by
 * another program would look like one of delete_disk. It is removed only in the version that was read,
 * because a claim that delete_disk has deleted keeps it. Returns the claim without it.
 */
async function removeDeletionMark(
  call: CallContext,
  diskCid: string,
  first: PersistentVolumeClaim,
): Promise<PersistentVolumeClaim> {
  let claim: PersistentVolumeClaim | undefined = first;
  for (let left = tries; left > 0; left -= 1) {
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined)
      throw diskDeletedError(diskCid, 'was deleted meanwhile');
    const { resourceVersion, annotations = {} } = claim.metadata;
    if (annotations[annotation.deleting] === undefined) return claim;
    try {
      return await call.api.patch<PersistentVolumeClaim>(claimReference(call, diskCid), {
        metadata: { resourceVersion, annotations: { [annotation.deleting]: null } },
      });
    } catch (error) {
      if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
    }
    claim = await findClaim(call, diskCid);
  }
  throw conflictError('DISK_NOT_ATTACHABLE', `disk '${diskCid}'`);
}

/**
 * Reverts `recordAttachment` for an attachment pod that is deleted and never mounted the disk in the VM:
 * otherwise the claim says that the disk may be mounted there. Does nothing if another call has marked the
 * claim since. Model: hot.pml
 */
export async function revertAttachment(call: CallContext, diskCid: string, mark: string): Promise<void> {
  for (let left = tries; left > 0; left -= 1) {
    const claim = await findClaim(call, diskCid);
    if (claim?.metadata.annotations?.[annotation.attachment] !== mark) return;
    const { resourceVersion } = claim.metadata;
    // the mark stays: the next one must be higher
    const annotations = { [annotation.attachedTo]: null };
    try {
      await call.api.patch(claimReference(call, diskCid), { metadata: { resourceVersion, annotations } });
      return;
    } catch (error) {
      if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
    }
  }
  throw conflictError('DISK_NOT_ATTACHABLE', `disk '${diskCid}'`);
}

const maxAttempts = 5;

/**
 * Records on the claim that the disk was detached from the VM of that attachment pod: if the detach_disk is
 * killed after this, the same call again finishes it. `first` was read before the disk was released. Writes
 * nothing if an attach_disk has run since. Rejects with DISK_BUSY if that one has attached the disk to this
 * VM again, and with DISK_WOULD_BE_LOST if the claim was deleted since. Model: hot.pml
 */
export async function recordDetach(
  call: CallContext,
  first: PersistentVolumeClaim | undefined,
  attachment: Pod,
): Promise<void> {
  const vmUid = attachment.metadata.annotations?.[annotation.vmUid];
  const name = first?.metadata.name ?? '';
  let claim = first;
  for (let left = maxAttempts; left > 0; left -= 1) {
    if (claim === undefined) return;
    if (wasAttachedAgain(claim, vmUid, markOf(first))) throw attachedAgainError(attachment);
    if (markOf(claim) !== markOf(first)) return;
    if (claim.metadata.annotations?.[annotation.detachedFrom] === vmUid) return;
    const { resourceVersion } = claim.metadata;
    try {
      const marked = await call.api.patch<PersistentVolumeClaim>(claimReference(call, name), {
        metadata: { resourceVersion, annotations: { [annotation.detachedFrom]: vmUid } },
      });
      assertClaimsRetained(vmCidOf(attachment), [marked]);
      return;
    } catch (error) {
      if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
    }
    claim = await findClaim(call, name);
  }
  throw conflictError('DISK_BUSY', `disk '${name}'`);
}

/** The error of a detach_disk if an attach_disk came after it. */
export const attachedAgainError = (attachment: Pod): ProductError =>
  new ProductError(
    'DISK_BUSY',
    `disk '${diskCidOf(attachment)}' was attached again to VM '${vmCidOf(attachment)}' by another call meanwhile; if it is to be detached, run the call again`,
  );
