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

/**
 * Retries on conflicts: the scheduler and the volume binder write to the claim, too, as soon as the
 * attachment pod exists.
 */
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
 * Removes the annotation `deleting`, which a delete_disk leaves on the claim if it was killed, or has seen
 * the attachment pod in time. It must be removed before attach_disk returns: otherwise a later deletion by
 * another program would look like one of delete_disk. It is removed only in the version that was read,
 * because a claim that delete_disk has deleted keeps it. Returns the claim without it.
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
 * Reverts `recordAttachment` for an attachment pod that is deleted and never mounted the disk in the VM:
 * otherwise the claim says that the disk may be mounted there. Does nothing if another call has marked the
 * claim since. Model: hot.pml
 */
export async function unmarkAttached(cloud: CallContext, diskCid: string, mark: string): Promise<void> {
  for (let left = tries; left > 0; left -= 1) {
    const claim = await findClaim(cloud, diskCid);
    if (claim?.metadata.annotations?.[annotation.attachment] !== mark) return;
    const { resourceVersion } = claim.metadata;
    // the mark stays: the next one must be higher
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
