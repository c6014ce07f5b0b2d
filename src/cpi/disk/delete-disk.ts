import { isApiError } from '../../kubernetes/client/api-error.ts';
import type { PersistentVolumeClaim } from '../../kubernetes/types/storage.ts';
import { conflictError, waitForDeletion } from '../objects/objects.ts';
import type { CallContext } from '../call.ts';
import { stringAt } from '../input.ts';
import { annotation } from '../objects/labels.ts';
import { replacementName, discardReplacement, removeHelpers } from './update/replacement.ts';
import { removeLeftCopies } from './update/remove-left-copies.ts';
import { claimReference, findDisk } from './disks.ts';
import { waitUntilDetached } from './detached-disk.ts';

/**
 * The number of attempts if other calls or controllers change the claim between the read and the deletion.
 */
const tries = 10;

/**
 * delete_disk(disk_cid): returns when the claim is deleted. A missing disk is success. An attached disk is
 * DISK_BUSY, without changes; a running detach is waited for. The claim records that this call deletes it: if
 * an attach_disk that was killed has left an attachment pod, the disk can still be detached
 * (attach/refuse-loss.ts). Model: hot.pml
 */
export async function deleteDisk(cloud: CallContext, args: readonly unknown[]): Promise<null> {
  const cid = stringAt(args[0], { code: 'INVALID_ARGUMENT', path: 'delete_disk.disk_cid' });
  for (let attempts = tries; attempts > 0; attempts -= 1) {
    const claim = await findDisk(cloud, cid);
    if (claim === undefined) return finish(cloud, cid);
    await waitUntilDetached(cloud, claim, 'deleted');
    if (replacementName(claim) !== undefined && claim.metadata.deletionTimestamp === undefined) {
      await discardReplacement(cloud, claim);
      continue;
    }
    await removeOwnHelpers(cloud, claim);
    const marked = await markDeleting(cloud, claim);
    if (marked !== undefined && (await deleteIfUnchanged(cloud, marked))) {
      await waitUntilDeleted(cloud, claim, cid);
      // if it was a replacement, the disk that it replaced may still exist
      if (claim.metadata.name === cid) return finish(cloud, cid);
    }
  }
  throw conflictError('DISK_BUSY', `disk '${cid}'`);
}

async function finish(cloud: CallContext, cid: string): Promise<null> {
  await removeLeftCopies(cloud, cid);
  return null;
}

/**
 * Removes helper objects of a disk that was made as a replacement: two simultaneous update_disk calls, one of
 * them killed, may have left a snapshot or a pod.
 */
async function removeOwnHelpers(
  cloud: CallContext,
  { metadata: { name = '', namespace = '' }, spec: { dataSource } }: PersistentVolumeClaim,
): Promise<void> {
  if (dataSource !== undefined) await removeHelpers(cloud, namespace, name);
}

/**
 * Marks exactly the version of the claim that was read before the check for attachment pods. Undefined if it
 * has changed since.
 */
async function markDeleting(
  cloud: CallContext,
  claim: PersistentVolumeClaim,
): Promise<PersistentVolumeClaim | undefined> {
  const { name = '', resourceVersion, deletionTimestamp, annotations = {} } = claim.metadata;
  if (deletionTimestamp !== undefined || annotations[annotation.deleting] === 'true') return claim;
  try {
    return await cloud.api.patch<PersistentVolumeClaim>(claimReference(cloud, name), {
      metadata: { resourceVersion, annotations: { [annotation.deleting]: 'true' } },
    });
  } catch (error) {
    if (isApiError(error, 404) || isApiError(error, 409)) return undefined;
    throw error;
  }
}

/**
 * Deletes with the resourceVersion that was read before the check for attachment pods. Returns false if an
 * attach_disk has changed the claim since.
 */
async function deleteIfUnchanged(cloud: CallContext, { metadata }: PersistentVolumeClaim): Promise<boolean> {
  const { name = '', uid = '', resourceVersion = '', deletionTimestamp } = metadata;
  if (deletionTimestamp !== undefined) return true;
  const options = { preconditions: { uid, resourceVersion }, propagationPolicy: 'Background' } as const;
  try {
    await cloud.api.delete(claimReference(cloud, name), options);
    return true;
  } catch (error) {
    if (isApiError(error, 404)) return true;
    if (isApiError(error, 409)) return false;
    throw error;
  }
}

async function waitUntilDeleted(
  cloud: CallContext,
  { metadata: { name = '', uid = '' } }: PersistentVolumeClaim,
  cid: string,
): Promise<void> {
  const deadlineSeconds = cloud.config.deadlines.deleteDisk;
  await waitForDeletion(cloud, {
    ...{ reference: claimReference(cloud, name), uid },
    ...{ deadlineSeconds, what: `disk '${cid}'` },
  });
}
