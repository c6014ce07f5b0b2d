import { ignoreNotFound } from '../../../kubernetes/api.ts';
import type { PersistentVolumeClaim } from '../../../kubernetes/types/storage.ts';
import type { CallContext } from '../../call.ts';
import { annotation } from '../../objects/labels.ts';
import { requestDeletion } from '../../objects/objects.ts';
import { findAttachment, deleteAttachmentPod } from '../attach/attachments.ts';
import { claimReference, isProvisional } from '../disks.ts';
import { standingCopy } from './replacement-claim.ts';
import { concurrentChangeError, replacementName, tries, writeSeen } from './replacement.ts';

/**
 * Finishes what `replaceDisk` began: the replacement gets the disk's metadata and stands for its cid from now
 * on, and the deletion of the disk is requested. Any call that finds such a disk does this. Idempotent.
 * Returns false if another program deleted the replacement: the old claim, which still has the data, is then
 * the disk again.
 *
 * Model: update.pml
 */
export async function finishReplacement(call: CallContext, disk: PersistentVolumeClaim): Promise<boolean> {
  const { name = '', uid = '', deletionTimestamp } = disk.metadata;
  if (!(await putInPlace(call, disk))) {
    const { copy: mark, copyDropped, replaced } = annotation;
    const annotations = { [mark]: null, [copyDropped]: null, [replaced]: null };
    if (deletionTimestamp === undefined) await writeSeen(call, disk, { annotations });
    return false;
  }
  // left by a killed attach_disk; a running one sees that the disk is replaced, and deletes its attachment
  // pod
  const attachment = await findAttachment(call, name);
  if (attachment !== undefined) await deleteAttachmentPod(call, attachment);
  await requestDeletion(call, claimReference(call, name), uid);
  return true;
}

/**
 * Returns false if the replacement is deleted or terminating. Does not change a replacement that stands for
 * the disk already: its metadata is about the disk, and newer than that on the old claim.
 */
async function putInPlace(call: CallContext, disk: PersistentVolumeClaim): Promise<boolean> {
  const reference = claimReference(call, replacementName(disk) ?? '');
  for (let left = tries; left > 0; left -= 1) {
    const copy = await ignoreNotFound(call.api.get<PersistentVolumeClaim>(reference));
    if (copy === undefined || copy.metadata.deletionTimestamp !== undefined) return false;
    if (!isProvisional(copy)) return true;
    if ((await writeSeen(call, copy, standingCopy(disk))) !== undefined) return true;
  }
  throw concurrentChangeError(disk);
}
