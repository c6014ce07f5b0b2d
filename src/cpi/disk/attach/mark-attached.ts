import { isApiError } from '../../../kubernetes/api-error.ts';
import { ifThere } from '../../../kubernetes/if-there.ts';
import type { Pod } from '../../../kubernetes/pod.ts';
import { changedByOthers } from '../../changed-by-others.ts';
import type { Cloud } from '../../cloud.ts';
import { annotation, label } from '../../labels.ts';
import { dropCopy } from '../change/drop-copy.ts';
import type { PersistentVolumeClaim } from '../claim.ts';
import { claimReference, findClaim } from '../claim.ts';
import { diskGone } from '../disk-not-found.ts';
import { freeOfDeadVm, refuseHeld } from './disk-lock.ts';
import { lastVmWords } from './last-vm.ts';

const tries = 5;

/**
 * Writes on the claim that the disk has that attachment, which is there by now. Whoever deletes the claim, or gives it to a VM
 * of the strategy `recreate`, does so on exactly a state that was read before it looked for attachments: either this write is a
 * conflict for it and it looks again, or it was first and is seen here: so is the copy of an update_disk that began after this call had
 * read the claim, and goes. Each call changes the claim. Resolves with the mark, which no other call writes. Rejects if the disk is
 * being deleted, and with DISK_ATTACHED_ELSEWHERE if a living VM has it. Model: hot.pml
 */
export async function markAttached(cloud: Cloud, diskCid: string, attachment: Pod): Promise<string> {
  const mark = cloud.newUuid();
  const claim = await ifThere(
    cloud.api.patch<PersistentVolumeClaim>(claimReference(cloud, diskCid), {
      metadata: {
        labels: { [label.unclaimed]: null },
        annotations: {
          [annotation.attachment]: mark,
          [annotation.attachedTo]: lastVmWords(attachment),
          [annotation.detachedFrom]: null,
        },
      },
    }),
  );
  const marked = await removeDeletionMark(cloud, diskCid, claim);
  await refuseHeld(cloud, marked);
  await freeOfDeadVm(cloud, marked);
  await dropCopy(cloud, marked);
  return mark;
}

/**
 * A delete_disk that was killed, or that has seen the attachment in time, leaves its mark on the claim. It goes before attach_disk
 * answers: a later deletion by another program would pass for one of delete_disk's. It goes on exactly the version that was read,
 * for a claim that delete_disk has deleted keeps it. Resolves with the claim without it.
 */
async function removeDeletionMark(
  cloud: Cloud,
  diskCid: string,
  first: PersistentVolumeClaim | undefined,
): Promise<PersistentVolumeClaim> {
  let claim = first;
  for (let left = tries; left > 0; left -= 1) {
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined)
      throw diskGone(diskCid, 'was deleted meanwhile');
    const { resourceVersion, annotations = {} } = claim.metadata;
    if (annotations[annotation.deleting] === undefined) return claim;
    try {
      return await cloud.api.patch<PersistentVolumeClaim>(claimReference(cloud, diskCid), {
        metadata: { resourceVersion, annotations: { [annotation.deleting]: null } },
      });
    } catch (error) {
      if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
    }
    claim = await findClaim(cloud, diskCid);
  }
  throw changedByOthers('DISK_NOT_ATTACHABLE', `disk '${diskCid}'`);
}

/**
 * Takes back what `markAttached` wrote, of an attachment that has gone and never had the disk in the VM: else the claim says that
 * the disk may be there. Does nothing if another call has marked the claim since. Model: hot.pml
 */
export async function unmarkAttached(cloud: Cloud, diskCid: string, mark: string): Promise<void> {
  for (let left = tries; left > 0; left -= 1) {
    const claim = await findClaim(cloud, diskCid);
    if (claim?.metadata.annotations?.[annotation.attachment] !== mark) return;
    const { resourceVersion } = claim.metadata;
    const annotations = { [annotation.attachment]: null, [annotation.attachedTo]: null };
    try {
      await cloud.api.patch(claimReference(cloud, diskCid), { metadata: { resourceVersion, annotations } });
      return;
    } catch (error) {
      if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
    }
  }
  throw changedByOthers('DISK_NOT_ATTACHABLE', `disk '${diskCid}'`);
}
