import type { Stored } from '../../../kubernetes/object.ts';
import type { PersistentVolumeClaim } from '../../../kubernetes/types/storage.ts';
import type { CallContext } from '../../call.ts';
import { annotation } from '../../objects/labels.ts';
import { claimReference, isProvisional, isReplaced, diskDeletedError, patchClaim } from '../disks.ts';
import { waitUntilDetached } from '../detached-disk.ts';
import {
  concurrentChangeError,
  replacementName,
  isDiscarded,
  rereadClaim,
  maxAttempts,
  Replacement,
} from './replacement.ts';
import { assertNotShrinking } from './plan-update.ts';
import { requestDeletion } from '../../objects/objects.ts';
import { AttachmentPod } from '../attach/attachment-pod.ts';
import { promotionPatch } from './replacement-claim.ts';

/**
 * Records on a disk that the replacement which it is marked with has taken its place. Writes to exactly the
 * version that was read before the check for attachment pods, so an attach_disk either makes this call check
 * again or sees that the disk is replaced. Returns the claim, for `completeReplacement`, or undefined if
 * another call has replaced the disk by this very replacement and deleted it. Rejects, without changes, with
 * DISK_BUSY if the disk is attached, has another mark or is deleted; with DISK_NOT_FOUND while another
 * program deletes it; and with NOT_SUPPORTED if it is now larger than the replacement.
 *
 * Model: update.pml
 */
export async function recordReplaced(
  call: CallContext,
  first: PersistentVolumeClaim,
  replacement: Replacement,
  sizeMiB: number,
): Promise<Stored<PersistentVolumeClaim> | undefined> {
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const claim = await rereadClaim(call, first);
    if (claim === undefined) {
      if (await replacement.isPromoted()) return undefined;
      throw concurrentChangeError(first);
    }
    if (isReplaced(claim) && replacementName(claim) === replacement.cid) return claim;
    if (isReplaced(claim) || replacementName(claim) !== replacement.cid || isDiscarded(claim))
      throw concurrentChangeError(first);
    if (claim.metadata.deletionTimestamp !== undefined)
      throw diskDeletedError(first.metadata.name, 'is being deleted');
    assertNotShrinking(claim, sizeMiB);
    await waitUntilDetached(call, claim, 'updated');
    const replaced = await patchClaim(call, claim, { annotations: { [annotation.replaced]: 'true' } });
    if (replaced !== undefined) return replaced;
  }
  throw concurrentChangeError(first);
}

/**
 * Finishes what `replaceDisk` began: the replacement gets the disk's metadata and stands for its cid from now
 * on, and the deletion of the disk is requested. Any call that finds such a disk does this. Idempotent.
 * Returns false if another program deleted the replacement: the old claim, which still has the data, is then
 * the disk again.
 *
 * Model: update.pml
 */
export async function completeReplacement(
  call: CallContext,
  disk: Stored<PersistentVolumeClaim>,
): Promise<boolean> {
  const { name, uid, deletionTimestamp } = disk.metadata;
  if (!(await promoteReplacement(call, disk))) {
    const { replacement, replacementDiscarded, replaced } = annotation;
    const annotations = { [replacement]: null, [replacementDiscarded]: null, [replaced]: null };
    if (deletionTimestamp === undefined) await patchClaim(call, disk, { annotations });
    return false;
  }
  // of a killed attach_disk; a running one sees that the disk is replaced, and deletes its attachment pod
  const attachmentPod = await AttachmentPod.find(call, name);
  if (attachmentPod !== undefined) await attachmentPod.delete();
  await requestDeletion(call, claimReference(call, name), uid);
  return true;
}

/**
 * Returns false if the replacement is deleted or terminating. Does not change a replacement that has already
 * taken the disk's place: its metadata is newer than the metadata of the old claim.
 */
async function promoteReplacement(call: CallContext, disk: PersistentVolumeClaim): Promise<boolean> {
  const replacement = new Replacement(call, replacementName(disk) ?? '');
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const claim = await replacement.find();
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return false;
    if (!isProvisional(claim)) return true;
    if ((await patchClaim(call, claim, promotionPatch(disk))) !== undefined) return true;
  }
  throw concurrentChangeError(disk);
}
