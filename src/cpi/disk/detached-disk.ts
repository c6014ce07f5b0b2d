import { ProductError } from '../../errors/product-error.ts';
import type { PersistentVolumeClaim } from '../../kubernetes/types/storage.ts';
import type { CallContext } from '../call.ts';
import { describeVmOf, findAttachment, vmStillExists, deleteAttachmentPod, waitForAttachmentDeletion } from './attach/attachments.ts';
import { lockOwner } from './attach/disk-lock.ts';
import { vmWithLeftoverMount } from './attach/attached-elsewhere.ts';
import { waitUntilOnNoNode } from './attach/volume-attachments.ts';
import { findDisk, diskDeletedError, diskNotFoundError } from './disks.ts';

/**
 * Returns the claim of a disk that no VM has. Rejects with DISK_NOT_FOUND, and as `waitUntilDetached` does.
 */
export async function requireDetachedDisk(
  call: CallContext,
  cid: string,
  operation: string,
): Promise<PersistentVolumeClaim> {
  const claim = await findDisk(call, cid);
  if (claim === undefined) throw diskNotFoundError(call, cid);
  if (claim.metadata.deletionTimestamp !== undefined) {
    throw diskDeletedError(cid, 'is being deleted');
  }
  await waitUntilDetached(call, claim, operation);
  return claim;
}

/**
 * Waits until no VM uses the disk. Rejects with DISK_BUSY, without changes, if a VM has it attached, under
 * either strategy. Waits for a running detach, for the attachment of a deleted VM, and for the storage driver
 * to detach the volume from its node, which it does not do while the volume is mounted there. A disk without
 * an attachment pod is rejected while the VM that it was last attached to has it mounted, or waits for its
 * restart and will have it mounted then. `purpose` ends the sentence: `detach it before it is <purpose>`.
 * Model: hot.pml
 */
export async function waitUntilDetached(
  call: CallContext,
  claim: PersistentVolumeClaim,
  purpose: string,
): Promise<void> {
  const { name = '' } = claim.metadata;
  const attachment = await findAttachment(call, name);
  const holder = await lockOwner(call, claim);
  const isEnding = attachment?.metadata.deletionTimestamp !== undefined;
  const isAttached = attachment !== undefined && !isEnding && (await vmStillExists(call, attachment));
  const lockedBy = holder === undefined ? undefined : `VM '${holder}'`;
  const vm = isAttached ? describeVmOf(call, attachment) : lockedBy;
  if (vm !== undefined) {
    throw new ProductError(
      'DISK_BUSY',
      `disk '${name}' is attached to ${vm}; detach it before it is ${purpose}`,
    );
  }
  // its VM is deleted, so no call detaches it any more; its container unmounts when nothing uses the disk
  if (attachment !== undefined && !isEnding) await deleteAttachmentPod(call, attachment);
  if (attachment !== undefined)
    await waitForAttachmentDeletion(call, attachment, call.config.deadlines.detachDisk);
  await refuseLeftMount(call, claim, purpose);
  await waitUntilOnNoNode(call, claim);
}

async function refuseLeftMount(
  call: CallContext,
  claim: PersistentVolumeClaim,
  purpose: string,
): Promise<void> {
  const vmCid = await vmWithLeftoverMount(call, claim);
  if (vmCid === undefined) return;
  throw new ProductError(
    'DISK_BUSY',
    `disk '${claim.metadata.name ?? ''}' may still be mounted in VM '${vmCid}', though its attachment is gone; detach it, or delete the VM, before it is ${purpose}`,
  );
}
