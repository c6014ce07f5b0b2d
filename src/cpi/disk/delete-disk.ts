import { isApiError } from '../../kubernetes/api-error.ts';
import type { PersistentVolumeClaim } from '../../kubernetes/volume.ts';
import { changedByOthers } from '../changed-by-others.ts';
import type { Cloud } from '../cloud.ts';
import { stringAt } from '../input.ts';
import { annotation } from '../labels.ts';
import { waitUntilGone } from '../remove-object.ts';
import { copyOf } from './change/copy-mark.ts';
import { dropCopy, removeHelpers } from './change/drop-copy.ts';
import { removeLeftCopies } from './change/remove-left-copies.ts';
import { claimReference } from './claim.ts';
import { waitUntilDetached } from './detached-disk.ts';
import { findDisk } from './find-disk.ts';

/** How often a claim may be changed by others, controllers too, between our look and the deletion. */
const tries = 10;

/**
 * delete_disk(disk_cid): returns when the claim is gone. Missing is success; attached is DISK_BUSY, nothing changed;
 * one that is just being detached is waited for. The claim says that this call deletes it: if an attach_disk that was killed has
 * left an attachment, that can be detached (attach/refuse-loss.ts). Model: hot.pml
 */
export async function deleteDisk(cloud: Cloud, args: readonly unknown[]): Promise<null> {
  const cid = stringAt(args[0], { code: 'INVALID_ARGUMENT', path: 'delete_disk.disk_cid' });
  for (let left = tries; left > 0; left -= 1) {
    const claim = await findDisk(cloud, cid);
    if (claim === undefined) return finish(cloud, cid);
    await waitUntilDetached(cloud, claim, 'deleted');
    if (copyOf(claim) !== undefined && claim.metadata.deletionTimestamp === undefined) {
      await dropCopy(cloud, claim);
      continue;
    }
    await removeOwnHelpers(cloud, claim);
    const marked = await markDeleting(cloud, claim);
    if (marked !== undefined && (await deleteSeen(cloud, marked))) {
      await waitUntilDeleted(cloud, claim, cid);
      // if it was a copy, the disk that it replaced may still be there
      if (claim.metadata.name === cid) return finish(cloud, cid);
    }
  }
  throw changedByOthers('DISK_BUSY', `disk '${cid}'`);
}

async function finish(cloud: Cloud, cid: string): Promise<null> {
  await removeLeftCopies(cloud, cid);
  return null;
}

/** Of a disk that was made as a copy: two update_disk at once, one of them killed, may have left a snapshot or a pod. */
async function removeOwnHelpers(
  cloud: Cloud,
  { metadata: { name = '', namespace = '' }, spec: { dataSource } }: PersistentVolumeClaim,
): Promise<void> {
  if (dataSource !== undefined) await removeHelpers(cloud, namespace, name);
}

/** On exactly the version that was read before attachments were looked for. Undefined if it has changed since. */
async function markDeleting(
  cloud: Cloud,
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

/** On exactly the state that was read before attachments were looked for: an attach_disk meanwhile has changed it. False then. */
async function deleteSeen(cloud: Cloud, { metadata }: PersistentVolumeClaim): Promise<boolean> {
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
  cloud: Cloud,
  { metadata: { name = '', uid = '' } }: PersistentVolumeClaim,
  cid: string,
): Promise<void> {
  const deadlineSeconds = cloud.config.deadlines.deleteDisk;
  await waitUntilGone(cloud, {
    ...{ reference: claimReference(cloud, name), uid },
    ...{ deadlineSeconds, what: `disk '${cid}'` },
  });
}
