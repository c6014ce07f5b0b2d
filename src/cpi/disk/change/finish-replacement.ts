import { ignoreNotFound } from '../../../kubernetes/if-there.ts';
import type { PersistentVolumeClaim } from '../../../kubernetes/volume.ts';
import type { CallContext } from '../../cloud.ts';
import { annotation } from '../../labels.ts';
import { requestDeletion } from '../../remove-object.ts';
import { findAttachment, deleteAttachmentPod } from '../attach/attachments.ts';
import { claimReference, isProvisional } from '../claim.ts';
import { standingCopy } from './copy-claim.ts';
import { concurrentChangeError, replacementName, tries, writeSeen } from './copy-mark.ts';

/**
 * Finishes what `replaceDisk` began: the copy gets the disk's metadata and stands for its cid from now on, and the disk is asked to go.
 * Any call that meets such a disk does this; idempotent. False if somebody deleted the copy meanwhile: the disk, which still has the
 * data, is then the disk again.
 *
 * Model: update.pml
 */
export async function finishReplacement(cloud: CallContext, disk: PersistentVolumeClaim): Promise<boolean> {
  const { name = '', uid = '', deletionTimestamp } = disk.metadata;
  if (!(await putInPlace(cloud, disk))) {
    const { copy: mark, copyDropped, replaced } = annotation;
    const annotations = { [mark]: null, [copyDropped]: null, [replaced]: null };
    if (deletionTimestamp === undefined) await writeSeen(cloud, disk, { annotations });
    return false;
  }
  // of an attach_disk that was killed: one that runs sees that the disk is replaced, and takes its attachment back
  const attachment = await findAttachment(cloud, name);
  if (attachment !== undefined) await deleteAttachmentPod(cloud, attachment);
  await requestDeletion(cloud, claimReference(cloud, name), uid);
  return true;
}

/**
 * False if the copy is gone or going. A copy that stands for the disk already is left alone: what it says by now is about the disk,
 * and newer than what the disk's claim says.
 */
async function putInPlace(cloud: CallContext, disk: PersistentVolumeClaim): Promise<boolean> {
  const reference = claimReference(cloud, replacementName(disk) ?? '');
  for (let left = tries; left > 0; left -= 1) {
    const copy = await ignoreNotFound(cloud.api.get<PersistentVolumeClaim>(reference));
    if (copy === undefined || copy.metadata.deletionTimestamp !== undefined) return false;
    if (!isProvisional(copy)) return true;
    if ((await writeSeen(cloud, copy, standingCopy(disk))) !== undefined) return true;
  }
  throw concurrentChangeError(disk);
}
