import { ProductError } from '../../../errors/product-error.ts';
import { isApiError } from '../../../kubernetes/client/api-error.ts';
import type { Pod } from '../../../kubernetes/types/pod.ts';
import { conflictError } from '../../objects/objects.ts';
import type { CallContext } from '../../call.ts';
import { annotation } from '../../objects/labels.ts';
import { type PersistentVolumeClaim, claimReference, findClaim } from '../disks.ts';
import { diskCidOf, vmCidOf, assertClaimsRetained } from './attachments.ts';
import { markOf, wasGivenAgain } from './last-vm.ts';

const tries = 5;

/**
 * Records on the claim that the disk was detached from the VM of that attachment pod: if the detach_disk is
 * killed after this, the same call again finishes it. `first` was read before the disk was released. Writes
 * nothing if an attach_disk has run since. Rejects with DISK_BUSY if that one has attached the disk to this
 * VM again, and with DISK_WOULD_BE_LOST if the claim was deleted since. Model: hot.pml
 */
export async function markDetached(
  call: CallContext,
  first: PersistentVolumeClaim | undefined,
  attachment: Pod,
): Promise<void> {
  const vmUid = attachment.metadata.annotations?.[annotation.vmUid];
  const name = first?.metadata.name ?? '';
  let claim = first;
  for (let left = tries; left > 0; left -= 1) {
    if (claim === undefined) return;
    if (wasGivenAgain(claim, vmUid, markOf(first))) throw attachedAgain(attachment);
    if (markOf(claim) !== markOf(first)) return;
    if (claim.metadata.annotations?.[annotation.detachedFrom] === vmUid) return;
    const { resourceVersion } = claim.metadata;
    try {
      const marked = await call.api.patch<PersistentVolumeClaim>(claimReference(call, name), {
        metadata: { resourceVersion, annotations: { [annotation.detachedFrom]: vmUid } },
      });
      assertClaimsRetained(vmCidOf(attachment), [marked]);
      return;
    } catch (error) {
      if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
    }
    claim = await findClaim(call, name);
  }
  throw conflictError('DISK_BUSY', `disk '${name}'`);
}

/** The error of a detach_disk if an attach_disk came after it. */
export const attachedAgain = (attachment: Pod): ProductError =>
  new ProductError(
    'DISK_BUSY',
    `disk '${diskCidOf(attachment)}' was attached again to VM '${vmCidOf(attachment)}' by another call meanwhile; if it is to be detached, run the call again`,
  );
