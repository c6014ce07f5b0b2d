import { isApiError } from '../../../kubernetes/api-error.ts';
import type { Pod } from '../../../kubernetes/pod.ts';
import { conflictError } from '../../changed-by-others.ts';
import type { CallContext } from '../../cloud.ts';
import { annotation, label } from '../../labels.ts';
import { discardReplacement } from '../change/drop-copy.ts';
import type { PersistentVolumeClaim } from '../claim.ts';
import { claimReference, findClaim } from '../claim.ts';
import { diskDeletedError } from '../disk-not-found.ts';
import { clearStaleLock, assertNotLocked } from './disk-lock.ts';
import { lastVmWords, markOf } from './last-vm.ts';

const tries = 5;
/** Controllers write on a claim that gets its volume a few times at once. */
const markTries = 10;

/** An error of `look` ends the call. */
export interface Marking {
  /** As it was when the caller last looked whether another VM has the disk mounted. */
  readonly claim: PersistentVolumeClaim;
  /** Looks at that again, if the claim has changed since. */
  readonly look: (now: PersistentVolumeClaim) => Promise<void>;
}

/**
 * Writes on the claim that the disk has that attachment, which is there by now. Whoever deletes the claim, or gives it to a VM
 * of the strategy `recreate`, does so on exactly a state that was read before it looked for attachments: either this write is a
 * conflict for it and it looks again, or it was first and is seen here: so is the copy of an update_disk that began after this call had
 * read the claim, and goes. It is written on the version that was looked at: the VM that another attach_disk has given the disk
 * meanwhile may have it mounted though its attachment was deleted by force. Resolves with the mark, a number in decimal: each
 * attach_disk writes a higher one. Rejects if the disk is being deleted, and with DISK_ATTACHED_ELSEWHERE if a living VM has it.
 * Model: hot.pml
 */
export async function recordAttachment(
  cloud: CallContext,
  attachment: Pod,
  marking: Marking,
): Promise<string> {
  const diskCid = marking.claim.metadata.name ?? '';
  const first = await patchSeen(cloud, attachment, marking);
  const marked = await removeDeletionMark(cloud, diskCid, first);
  await assertNotLocked(cloud, marked);
  await clearStaleLock(cloud, marked);
  await discardReplacement(cloud, marked);
  return String(markOf(first));
}

/** The scheduler and the volume binder write on the claim, too, as soon as the attachment is there. */
async function patchSeen(
  cloud: CallContext,
  attachment: Pod,
  { claim, look }: Marking,
): Promise<PersistentVolumeClaim> {
  const { name: diskCid = '' } = claim.metadata;
  let seen = claim;
  for (let left = markTries; left > 0; left -= 1) {
    const { resourceVersion } = seen.metadata;
    const annotations = {
      [annotation.attachment]: String(markOf(seen) + 1),
      [annotation.attachedTo]: lastVmWords(attachment),
      [annotation.detachedFrom]: null,
    };
    const patch = { metadata: { resourceVersion, labels: { [label.unclaimed]: null }, annotations } };
    try {
      return await cloud.api.patch<PersistentVolumeClaim>(claimReference(cloud, diskCid), patch);
    } catch (error) {
      if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
    }
    const now = await findClaim(cloud, diskCid);
    if (now === undefined || now.metadata.deletionTimestamp !== undefined)
      throw diskDeletedError(diskCid, 'was deleted meanwhile');
    await look(now);
    seen = now;
  }
  throw conflictError('DISK_NOT_ATTACHABLE', `disk '${diskCid}'`);
}

/**
 * A delete_disk that was killed, or that has seen the attachment in time, leaves its mark on the claim. It goes before attach_disk
 * answers: a later deletion by another program would pass for one of delete_disk's. It goes on exactly the version that was read,
 * for a claim that delete_disk has deleted keeps it. Resolves with the claim without it.
 */
async function removeDeletionMark(
  cloud: CallContext,
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
      return await cloud.api.patch<PersistentVolumeClaim>(claimReference(cloud, diskCid), {
        metadata: { resourceVersion, annotations: { [annotation.deleting]: null } },
      });
    } catch (error) {
      if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
    }
    claim = await findClaim(cloud, diskCid);
  }
  throw conflictError('DISK_NOT_ATTACHABLE', `disk '${diskCid}'`);
}

/**
 * Takes back what `recordAttachment` wrote, of an attachment that has gone and never had the disk in the VM: else the claim says that
 * the disk may be there. Does nothing if another call has marked the claim since. Model: hot.pml
 */
export async function unmarkAttached(cloud: CallContext, diskCid: string, mark: string): Promise<void> {
  for (let left = tries; left > 0; left -= 1) {
    const claim = await findClaim(cloud, diskCid);
    if (claim?.metadata.annotations?.[annotation.attachment] !== mark) return;
    const { resourceVersion } = claim.metadata;
    // the mark stays: the next one has to be higher
    const annotations = { [annotation.attachedTo]: null };
    try {
      await cloud.api.patch(claimReference(cloud, diskCid), { metadata: { resourceVersion, annotations } });
      return;
    } catch (error) {
      if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
    }
  }
  throw conflictError('DISK_NOT_ATTACHABLE', `disk '${diskCid}'`);
}
