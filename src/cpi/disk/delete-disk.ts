import type { Cloud } from '../cloud.ts';
import { stringAt } from '../input.ts';
import { requestDeletion, waitUntilGone } from '../remove-object.ts';
import { dropCopy } from './change/drop-copy.ts';
import { claimReference } from './claim.ts';
import { waitUntilDetached } from './detached-disk.ts';
import { findDisk } from './find-disk.ts';

/**
 * delete_disk(disk_cid): returns when the claim is gone. Missing is success; attached is DISK_BUSY, nothing changed;
 * one that is just being detached is waited for.
 */
export async function deleteDisk(cloud: Cloud, args: readonly unknown[]): Promise<null> {
  const cid = stringAt(args[0], { code: 'INVALID_ARGUMENT', path: 'delete_disk.disk_cid' });
  const claim = await findDisk(cloud, cid);
  if (claim === undefined) return null;
  const { name = '', uid = '' } = claim.metadata;
  await waitUntilDetached(cloud, claim, 'deleted');
  await dropCopy(cloud, claim);
  const reference = claimReference(cloud, name);
  const deadlineSeconds = cloud.config.deadlines.deleteDisk;
  await requestDeletion(cloud, reference, uid);
  await waitUntilGone(cloud, { reference, uid, deadlineSeconds, what: `disk '${cid}'` });
  return null;
}
