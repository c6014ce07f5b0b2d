import type { CallContext } from '../call.ts';
import type { AttachDiskRequest } from '../protocol/methods.ts';
import { isDiskCid } from '../objects/names.ts';
import { findVm } from '../vm/vms.ts';
import { AttachmentPod } from './attach/attachment-pod.ts';
import { detachHot } from './attach/detach-hot.ts';
import { diskAttacher } from './attach/strategy.ts';
import { isReplaced, findDisk } from './disks.ts';

/**
 * detach_disk(vm_cid, disk_cid): returns when another VM, also on another node, can get the disk. The mount
 * container must release the disk before its pod is deleted, because a deletion cannot be undone. If it could
 * not confirm the release, the VM is checked for the mount. The claim records which VM the disk was detached
 * from, so that the same call succeeds again after a killed one. DISK_NOT_ATTACHED if the disk is not on that
 * VM (VM_NOT_FOUND if there is no such VM either). DISK_BUSY while a process uses it, or the VM cannot be
 * checked: the disk is still attached then. DISK_BUSY also if an attach_disk of the same pair came while this
 * call was running: the VM keeps the disk that it attached. DISK_WOULD_BE_LOST if another program deleted the
 * claim. Model: hot.pml
 */
export async function detachDisk(call: CallContext, { vmCid, diskCid }: AttachDiskRequest): Promise<null> {
  const { attachmentPod, claimName } = await findAttachedDisk(call, diskCid);
  if (attachmentPod?.vmCid === vmCid) {
    // its VM has the strategy `hot`, and may be deleted
    const claim = await detachHot(call, attachmentPod, claimName);
    if (claim === undefined || isReplaced(claim)) await detachReplacement(call, vmCid, diskCid, claimName);
  } else {
    const attacher = await diskAttacher(call, vmCid, await findVm(call, vmCid));
    await attacher.detach(claimName, attachmentPod !== undefined);
  }
  return null;
}

/**
 * Detaches the replacement of the disk, too. A killed attach_disk may have left the attachment pod of a disk
 * that was replaced afterwards: the VM may have both.
 */
async function detachReplacement(
  call: CallContext,
  vmCid: string,
  diskCid: string,
  detachedClaim: string,
): Promise<void> {
  const replacement = (await findDisk(call, diskCid))?.metadata.name;
  if (replacement === undefined || replacement === detachedClaim) return;
  const attachmentPod = await AttachmentPod.find(call, replacement);
  if (attachmentPod?.vmCid === vmCid) await detachHot(call, attachmentPod, replacement);
}

/**
 * Finds the attachment pod of a disk, and the name of its claim. If the cid is a previous one, both are those
 * of the replacement.
 */
async function findAttachedDisk(
  call: CallContext,
  diskCid: string,
): Promise<{ attachmentPod: AttachmentPod | undefined; claimName: string }> {
  if (!isDiskCid(diskCid)) return { attachmentPod: undefined, claimName: diskCid };
  const attachmentPod = await AttachmentPod.find(call, diskCid);
  if (attachmentPod !== undefined) return { attachmentPod, claimName: diskCid };
  const claimName = (await findDisk(call, diskCid))?.metadata.name ?? diskCid;
  if (claimName === diskCid) return { attachmentPod: undefined, claimName };
  return { attachmentPod: await AttachmentPod.find(call, claimName), claimName };
}
