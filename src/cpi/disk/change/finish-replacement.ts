import { ifThere } from '../../../kubernetes/if-there.ts';
import type { PersistentVolumeClaim } from '../../../kubernetes/volume.ts';
import type { Cloud } from '../../cloud.ts';
import { annotation, label } from '../../labels.ts';
import { requestDeletion } from '../../remove-object.ts';
import { findAttachment, requestEnd } from '../attach/attachments.ts';
import { claimReference } from '../claim.ts';
import { annotateSeen, copyOf } from './copy-mark.ts';

/**
 * Finishes what `replaceDisk` began: the copy stands for the disk's cid from now on, and the disk is asked to go. Any call that meets
 * such a disk does this; idempotent. False if somebody deleted the copy meanwhile: the disk, which still has the
 * data, is then the disk again.
 *
 * Model: update.pml
 */
export async function finishReplacement(cloud: Cloud, disk: PersistentVolumeClaim): Promise<boolean> {
  const { name = '', uid = '', deletionTimestamp } = disk.metadata;
  const copy = await ifThere(
    cloud.api.patch<PersistentVolumeClaim>(claimReference(cloud, copyOf(disk) ?? ''), {
      metadata: { labels: { [label.provisional]: null } },
    }),
  );
  if (copy === undefined || copy.metadata.deletionTimestamp !== undefined) {
    const { copy: mark, copyDropped, replaced } = annotation;
    const none = { [mark]: null, [copyDropped]: null, [replaced]: null };
    if (deletionTimestamp === undefined) await annotateSeen(cloud, disk, none);
    return false;
  }
  // of an attach_disk that was killed: one that runs sees that the disk is replaced, and takes its attachment back
  const attachment = await findAttachment(cloud, name);
  if (attachment !== undefined) await requestEnd(cloud, attachment);
  await requestDeletion(cloud, claimReference(cloud, name), uid);
  return true;
}
