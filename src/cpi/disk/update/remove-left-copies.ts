import { persistentVolumeClaims } from '../../../kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../../kubernetes/types/storage.ts';
import type { CallContext } from '../../call.ts';
import { isManaged, label } from '../../objects/labels.ts';
import { claimReference } from '../disks.ts';
import { hasFormerCid } from '../former-cids.ts';
import { removeProvisionalCopy } from './replacement.ts';

/**
 * Removes the replacements of a deleted disk that no disk names. An update_disk leaves one if it was killed
 * just after it had made the replacement, and another call had already removed the mark from the disk.
 * Idempotent.
 */
export async function removeLeftCopies(call: CallContext, cid: string): Promise<void> {
  const { namespace = '' } = claimReference(call, cid);
  const { items } = await call.api.list<PersistentVolumeClaim>(persistentVolumeClaims, {
    namespace,
    labelSelector: label.provisional,
  });
  for (const copy of items) {
    if (isManaged(copy, 'disk') && hasFormerCid(copy, cid))
      await removeProvisionalCopy(call, namespace, copy.metadata.name ?? '');
  }
}
