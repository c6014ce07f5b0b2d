import { persistentVolumeClaims } from '../../../kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../../kubernetes/volume.ts';
import type { CallContext } from '../../cloud.ts';
import { isManaged, label } from '../../labels.ts';
import { claimReference } from '../claim.ts';
import { hasFormerCid } from '../former-cids.ts';
import { removeProvisionalCopy } from './drop-copy.ts';

/**
 * Removes the copies of a deleted disk that no disk names: an update_disk that was killed just after it had made a copy, when another
 * call had already taken the disk's mark of it away, leaves one. Idempotent.
 */
export async function removeLeftCopies(cloud: CallContext, cid: string): Promise<void> {
  const { namespace = '' } = claimReference(cloud, cid);
  const { items } = await cloud.api.list<PersistentVolumeClaim>(persistentVolumeClaims, {
    namespace,
    labelSelector: label.provisional,
  });
  for (const copy of items) {
    if (isManaged(copy, 'disk') && hasFormerCid(copy, cid))
      await removeProvisionalCopy(cloud, namespace, copy.metadata.name ?? '');
  }
}
