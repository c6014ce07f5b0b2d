import type { CallContext } from '../../call.ts';
import type { KubernetesObject, Stored } from '../../../kubernetes/object.ts';
import type { Pod } from '../../../kubernetes/types/pod.ts';
import { ProductError } from '../../../errors/product-error.ts';
import { annotation, label } from '../../objects/labels.ts';
import { conflictError } from '../../objects/objects.ts';
import { discardReplacement } from '../update/replacement.ts';
import { type PersistentVolumeClaim, findClaim, diskDeletedError, patchClaim } from '../disks.ts';
import type { AttachmentPod } from './attachment-pod.ts';
import { assertNotLocked, clearStaleLock } from './disk-lock.ts';
import { assertClaimsRetained } from './retained-claims.ts';

/** The number of attempts if other calls or controllers change the claim between the read and the write. */
const maxAttempts = 5;
/** Several controllers write to a claim in the moment in which it gets its volume. */
const maxRecordAttempts = 10;

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
const lastVmAnnotation = ({ vmNamespace, vmCid, vmUid = '' }: AttachmentPod): string =>
  [vmNamespace, vmCid, vmUid].join('/');

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

/**
 * Returns true if the last detach_disk detached the disk from that VM, and no attach_disk came after it. The
 * VM is identified by its pod under `hot`, and by its Secret under `recreate`.
 */
export const wasDetachedFrom = (
  claim: PersistentVolumeClaim | undefined,
  { metadata: { uid } }: KubernetesObject,
): boolean => uid !== undefined && claim?.metadata.annotations?.[annotation.detachedFrom] === uid;

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
  const mark = claim?.metadata.annotations?.[annotation.attachment] ?? '';
  return /^\d{1,15}$/u.test(mark) ? Number(mark) : 0;
}

/** Checks a claim that has changed since the caller read it. An error ends the call. */
export type Recheck = (claim: PersistentVolumeClaim) => Promise<void>;

/**
 * Records the attachment on the claim. The attachment pod exists already. delete_disk and `recreate` read the
 * claim first, then look for attachment pods, then write with the resourceVersion that they read. So either
 * this patch makes their write conflict and they check again, or this patch comes later and this call sees
 * the result of their write. An update_disk that began after this call had read the claim is seen in the same
 * way, and its replacement is discarded. `first` is the claim as it was when the caller last checked whether
 * another VM has the disk mounted; `recheck` checks that again if the claim has changed: another attach_disk
 * may have attached the disk to its VM since, which may have it mounted although its attachment pod was
 * force-deleted. Returns the mark, a decimal number; each attach_disk writes a higher one. Rejects if the
 * disk is being deleted, and with DISK_ATTACHED_ELSEWHERE if an existing VM has it. Model: hot.pml
 */
export async function recordAttachment(
  call: CallContext,
  attachmentPod: AttachmentPod,
  first: Stored<PersistentVolumeClaim>,
  recheck: Recheck,
): Promise<string> {
  const recorded = await raiseMark(call, attachmentPod, first, recheck);
  const claim = await removeDeletionMark(call, attachmentPod.diskCid, recorded);
  await assertNotLocked(call, claim);
  await clearStaleLock(call, claim);
  await discardReplacement(call, claim);
  return String(markOf(recorded));
}

/**
 * Retries on conflicts: the scheduler and the volume binder write to the claim, too, as soon as the
 * attachment pod exists.
 */
async function raiseMark(
  call: CallContext,
  attachmentPod: AttachmentPod,
  first: Stored<PersistentVolumeClaim>,
  recheck: Recheck,
): Promise<Stored<PersistentVolumeClaim>> {
  const { diskCid } = attachmentPod;
  let claim = first;
  for (let attempt = 1; attempt <= maxRecordAttempts; attempt += 1) {
    const recorded = await patchClaim(call, claim, {
      labels: { [label.unclaimed]: null },
      annotations: {
        [annotation.attachment]: String(markOf(claim) + 1),
        [annotation.attachedTo]: lastVmAnnotation(attachmentPod),
        [annotation.detachedFrom]: null,
      },
    });
    if (recorded !== undefined) return recorded;
    const current = await findClaim(call, diskCid);
    if (current === undefined || current.metadata.deletionTimestamp !== undefined)
      throw diskDeletedError(diskCid, 'was deleted during this call');
    await recheck(current);
    claim = current;
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
  first: Stored<PersistentVolumeClaim>,
): Promise<Stored<PersistentVolumeClaim>> {
  let claim: Stored<PersistentVolumeClaim> | undefined = first;
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined)
      throw diskDeletedError(diskCid, 'was deleted during this call');
    if (claim.metadata.annotations?.[annotation.deleting] === undefined) return claim;
    const unmarked = await patchClaim(call, claim, { annotations: { [annotation.deleting]: null } });
    if (unmarked !== undefined) return unmarked;
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
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const claim = await findClaim(call, diskCid);
    if (claim?.metadata.annotations?.[annotation.attachment] !== mark) return;
    // the mark stays: the next one must be higher
    const reverted = await patchClaim(call, claim, { annotations: { [annotation.attachedTo]: null } });
    if (reverted !== undefined) return;
  }
  throw conflictError('DISK_NOT_ATTACHABLE', `disk '${diskCid}'`);
}

/**
 * Records on the claim that the disk was detached from the VM of that attachment pod: if the detach_disk is
 * killed after this, the same call again finishes it. `first` was read before the disk was released. Writes
 * nothing if an attach_disk has run since. Rejects with DISK_BUSY if that one has attached the disk to this
 * VM again, and with DISK_WOULD_BE_LOST if the claim was deleted since. Model: hot.pml
 */
export async function recordDetach(
  call: CallContext,
  first: Stored<PersistentVolumeClaim> | undefined,
  attachmentPod: AttachmentPod,
): Promise<void> {
  const { vmCid, vmUid } = attachmentPod;
  const name = first?.metadata.name ?? '';
  let claim = first;
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    if (claim === undefined) return;
    if (wasAttachedAgain(claim, vmUid, markOf(first))) throw attachedAgainError(attachmentPod);
    if (markOf(claim) !== markOf(first)) return;
    if (claim.metadata.annotations?.[annotation.detachedFrom] === vmUid) return;
    const recorded = await patchClaim(call, claim, {
      annotations: { [annotation.detachedFrom]: vmUid },
    });
    if (recorded !== undefined) {
      assertClaimsRetained(vmCid, [recorded]);
      return;
    }
    claim = await findClaim(call, name);
  }
  throw conflictError('DISK_BUSY', `disk '${name}'`);
}

/** Returns the error of a detach_disk if an attach_disk came after it. */
export const attachedAgainError = ({
  diskCid,
  vmCid,
}: Pick<AttachmentPod, 'diskCid' | 'vmCid'>): ProductError =>
  new ProductError(
    'DISK_BUSY',
    `disk '${diskCid}' was attached again to VM '${vmCid}' by another call; to detach it, run the call again`,
  );
