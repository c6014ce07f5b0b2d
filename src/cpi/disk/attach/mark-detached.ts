import { isApiError } from '../../../kubernetes/api-error.ts';
import type { Pod } from '../../../kubernetes/pod.ts';
import { changedByOthers } from '../../changed-by-others.ts';
import type { Cloud } from '../../cloud.ts';
import { annotation } from '../../labels.ts';
import type { PersistentVolumeClaim } from '../claim.ts';
import { claimReference, findClaim } from '../claim.ts';
import { vmCidOf } from './attachments.ts';
import { refuseLoss } from './refuse-loss.ts';

const tries = 5;

/**
 * Writes on the claim that the disk was taken out of the VM of that attachment: a detach_disk that is killed after this is then
 * finished by the same call again. `first` was read before the disk was released. Resolves with false, nothing written, if an
 * attach_disk has come since: the disk may be in the VM again. Rejects with DISK_WOULD_BE_LOST if the claim was deleted
 * meanwhile. Model: hot.pml
 */
export async function markDetached(
  cloud: Cloud,
  first: PersistentVolumeClaim | undefined,
  attachment: Pod,
): Promise<boolean> {
  const vmUid = attachment.metadata.annotations?.[annotation.vmUid];
  const name = first?.metadata.name ?? '';
  let claim = first;
  for (let left = tries; left > 0; left -= 1) {
    if (claim === undefined) return true;
    if (attachOf(claim) !== attachOf(first)) return false;
    if (claim.metadata.annotations?.[annotation.detachedFrom] === vmUid) return true;
    const { resourceVersion } = claim.metadata;
    try {
      const marked = await cloud.api.patch<PersistentVolumeClaim>(claimReference(cloud, name), {
        metadata: { resourceVersion, annotations: { [annotation.detachedFrom]: vmUid } },
      });
      refuseLoss(vmCidOf(attachment), [marked]);
      return true;
    } catch (error) {
      if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
    }
    claim = await findClaim(cloud, name);
  }
  throw changedByOthers('DISK_BUSY', `disk '${name}'`);
}

/** What the last attach_disk wrote (mark-attached.ts). */
const attachOf = (claim: PersistentVolumeClaim | undefined): string | undefined =>
  claim?.metadata.annotations?.[annotation.attachment];
