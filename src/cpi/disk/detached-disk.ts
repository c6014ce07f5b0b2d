import { ProductError } from '../../errors/product-error.ts';
import type { Stored } from '../../kubernetes/object.ts';
import type { PersistentVolumeClaim } from '../../kubernetes/types/storage.ts';
import type { CallContext } from '../call.ts';
import { removeAttachmentPod, vmWithLeftoverMount } from './attach/attached-elsewhere.ts';
import { AttachmentPod } from './attach/attachment-pod.ts';
import { lockOwner } from './attach/disk-lock.ts';
import { waitUntilOnNoNode } from './attach/volume-attachments.ts';
import { findDisk, requireUsable } from './disks.ts';

/**
 * Returns the claim of a disk that no VM has. Rejects with DISK_NOT_FOUND, and as `waitUntilDetached` does.
 */
export async function requireDetachedDisk(
  call: CallContext,
  cid: string,
  operation: string,
): Promise<Stored<PersistentVolumeClaim>> {
  const claim = requireUsable(call, cid, await findDisk(call, cid));
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
  const { name } = claim.metadata;
  const attachmentPod = await AttachmentPod.find(call, name);
  const lockedBy = await lockOwner(call, claim);
  const isAttached =
    attachmentPod !== undefined && !attachmentPod.isTerminating && (await attachmentPod.vmExists());
  const lockingVm = lockedBy === undefined ? undefined : `VM '${lockedBy}'`;
  const vm = isAttached ? attachmentPod.describeVm() : lockingVm;
  if (vm !== undefined) {
    throw new ProductError(
      'DISK_BUSY',
      `disk '${name}' is attached to ${vm}; detach it before it is ${purpose}`,
    );
  }
  // its VM is deleted, so no call detaches it any more; its container unmounts when nothing uses the disk
  if (attachmentPod !== undefined) await removeAttachmentPod(call, attachmentPod);
  await assertNotMountedInVm(call, claim, purpose);
  await waitUntilOnNoNode(call, claim);
}

async function assertNotMountedInVm(
  call: CallContext,
  claim: PersistentVolumeClaim,
  purpose: string,
): Promise<void> {
  const vmCid = await vmWithLeftoverMount(call, claim);
  if (vmCid === undefined) return;
  throw new ProductError(
    'DISK_BUSY',
    `disk '${claim.metadata.name}' may still be mounted in VM '${vmCid}', though its attachment pod was deleted; detach it, or delete the VM, before it is ${purpose}`,
  );
}
