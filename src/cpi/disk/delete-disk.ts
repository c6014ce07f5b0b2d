import { ProductError } from '../../errors/product-error.ts';
import type { Cloud } from '../cloud.ts';
import { stringAt } from '../input.ts';
import { requestDeletion, waitUntilGone } from '../remove-object.ts';
import { findAttachment, vmCidOf, waitUntilEnded } from './attach/attachments.ts';
import { livingHolder } from './attach/disk-lock.ts';
import { claimReference, findClaim } from './claim.ts';

/**
 * delete_disk(disk_cid): returns when the claim is gone. Missing is success; attached is DISK_BUSY, nothing changed;
 * one that is just being detached is waited for.
 */
export async function deleteDisk(cloud: Cloud, args: readonly unknown[]): Promise<null> {
  const cid = stringAt(args[0], { code: 'INVALID_ARGUMENT', path: 'delete_disk.disk_cid' });
  const claim = await findClaim(cloud, cid);
  if (claim === undefined) return null;
  const { detachDisk, deleteDisk: deadlineSeconds } = cloud.config.deadlines;
  const attachment = await findAttachment(cloud, cid);
  const holder = await livingHolder(cloud, claim);
  const isAttached = attachment !== undefined && attachment.metadata.deletionTimestamp === undefined;
  const vmCid = isAttached ? vmCidOf(attachment) : holder;
  if (vmCid !== undefined) {
    throw new ProductError(
      'DISK_BUSY',
      `disk '${cid}' is attached to VM '${vmCid}'; detach it before it is deleted`,
    );
  }
  if (attachment !== undefined) await waitUntilEnded(cloud, attachment, detachDisk);
  const reference = claimReference(cloud, cid);
  const uid = claim.metadata.uid ?? '';
  await requestDeletion(cloud, reference, uid);
  await waitUntilGone(cloud, { reference, uid, deadlineSeconds, what: `disk '${cid}'` });
  return null;
}
