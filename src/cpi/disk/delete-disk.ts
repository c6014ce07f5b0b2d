import type { Stored } from '../../kubernetes/object.ts';
import type { PersistentVolumeClaim } from '../../kubernetes/types/storage.ts';
import { conflictError, deleteIfUnchanged, waitForDeletion } from '../objects/objects.ts';
import type { CallContext } from '../call.ts';
import type { DeleteDiskRequest } from '../protocol/methods.ts';
import { annotation } from '../objects/labels.ts';
import {
  replacementName,
  discardReplacement,
  Replacement,
  removeOrphanedReplacements,
} from './update/replacement.ts';
import { claimReference, findDisk, patchClaim } from './disks.ts';
import { waitUntilDetached } from './detached-disk.ts';

/**
 * The number of attempts if other calls or controllers change the claim between the read and the deletion.
 */
const maxAttempts = 10;

/**
 * delete_disk(disk_cid): returns when the claim is deleted. A missing disk is success. An attached disk is
 * DISK_BUSY, without changes; a running detach is waited for. The claim records that this call deletes it: if
 * an attach_disk that was killed has left an attachment pod, the disk can still be detached
 * (attach/attachments.ts). Model: hot.pml
 */
export async function deleteDisk(call: CallContext, { diskCid: cid }: DeleteDiskRequest): Promise<null> {
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const claim = await findDisk(call, cid);
    if (claim === undefined) return finish(call, cid);
    await waitUntilDetached(call, claim, 'deleted');
    if (replacementName(claim) !== undefined && claim.metadata.deletionTimestamp === undefined) {
      await discardReplacement(call, claim);
      continue;
    }
    await removeOwnHelpers(call, claim);
    const marked = await markDeleting(call, claim);
    if (marked !== undefined && (await deleteClaimIfUnchanged(call, marked))) {
      await waitUntilDeleted(call, claim, cid);
      // if it was a replacement, the disk that it replaced may still exist
      if (claim.metadata.name === cid) return finish(call, cid);
    }
  }
  throw conflictError('DISK_BUSY', `disk '${cid}'`);
}

async function finish(call: CallContext, cid: string): Promise<null> {
  await removeOrphanedReplacements(call, cid);
  return null;
}

/**
 * Removes helper objects of a disk that was made as a replacement: two simultaneous update_disk calls, one of
 * them killed, may have left a snapshot or a pod.
 */
async function removeOwnHelpers(
  call: CallContext,
  { metadata: { name }, spec: { dataSource } }: PersistentVolumeClaim,
): Promise<void> {
  if (dataSource !== undefined) await new Replacement(call, name).removeHelpers();
}

/**
 * Marks exactly the version of the claim that was read before the check for attachment pods. Undefined if it
 * has changed since.
 */
async function markDeleting(
  call: CallContext,
  claim: Stored<PersistentVolumeClaim>,
): Promise<Stored<PersistentVolumeClaim> | undefined> {
  const { deletionTimestamp, annotations = {} } = claim.metadata;
  if (deletionTimestamp !== undefined || annotations[annotation.deleting] === 'true') return claim;
  return patchClaim(call, claim, { annotations: { [annotation.deleting]: 'true' } });
}

/**
 * Deletes with the resourceVersion that was read before the check for attachment pods. Returns false if an
 * attach_disk has changed the claim since.
 */
async function deleteClaimIfUnchanged(
  call: CallContext,
  claim: Stored<PersistentVolumeClaim>,
): Promise<boolean> {
  const { name, deletionTimestamp } = claim.metadata;
  return deletionTimestamp !== undefined || deleteIfUnchanged(call, claimReference(call, name), claim);
}

async function waitUntilDeleted(
  call: CallContext,
  { metadata: { name, uid } }: Stored<PersistentVolumeClaim>,
  cid: string,
): Promise<void> {
  const deadlineSeconds = call.config.deadlines.deleteDisk;
  await waitForDeletion(call, {
    ...{ reference: claimReference(call, name), uid },
    ...{ deadlineSeconds, what: `disk '${cid}'` },
  });
}
