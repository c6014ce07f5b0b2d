import { ProductError } from '../../../errors/product-error.ts';
import type { Pod } from '../../../kubernetes/types/pod.ts';
import type { CallContext } from '../../call.ts';
import { findVm } from '../../vm/vms.ts';
import type { PersistentVolumeClaim } from '../disks.ts';
import { AttachmentPod } from './attachment-pod.ts';
import { lastVm, wasAttachedTo } from './attachment-record.ts';

/**
 * For a disk without an attachment pod, returns the cid of the VM that it was last attached to, if that VM
 * has it mounted, or waits for its restart and will have it mounted then. A VM in another namespace with the
 * same `disk_namespace` cannot be checked. Sends no request if a detach_disk has detached the disk. Rejects
 * as `isMountedOrRestarting` does. Model: hot.pml
 */
export async function vmWithLeftoverMount(
  call: CallContext,
  claim: PersistentVolumeClaim,
): Promise<string | undefined> {
  const last = lastVm(claim);
  if (last === undefined || last.namespace !== call.namespace) return undefined;
  const vm = await findVm(call, last.cid);
  if (vm === undefined || vm.metadata.uid !== last.uid) return undefined;
  const { isMountedOrRestarting } = await import('./container-commands.ts');
  return (await isMountedOrRestarting(call, vm, claim.metadata.name)) ? last.cid : undefined;
}

/**
 * Rejects with DISK_ATTACHED_ELSEWHERE if a VM, other than `vm`, has the disk mounted although another
 * program deleted its attachment pod.
 */
export async function assertNotMountedElsewhere(
  call: CallContext,
  claim: PersistentVolumeClaim,
  vm?: Pod,
): Promise<void> {
  if (vm !== undefined && wasAttachedTo(claim, vm)) return;
  const vmCid = await vmWithLeftoverMount(call, claim);
  if (vmCid === undefined) return;
  throw new ProductError(
    'DISK_ATTACHED_ELSEWHERE',
    `disk '${claim.metadata.name}' may still be mounted in VM '${vmCid}', though its attachment pod was deleted; detach it there first, or delete that VM`,
  );
}

/**
 * Removes a leftover attachment pod of the disk. Rejects with DISK_ATTACHED_ELSEWHERE if it is the attachment
 * pod of an existing VM.
 */
export async function removeStaleAttachmentPod(call: CallContext, diskCid: string): Promise<void> {
  const existing = await AttachmentPod.find(call, diskCid);
  if (existing === undefined) return;
  if (!existing.isTerminating) await assertVmDeleted(existing);
  await removeAttachmentPod(call, existing);
}

/** Rejects with DISK_ATTACHED_ELSEWHERE while the VM of the attachment pod exists. */
export async function assertVmDeleted(attachmentPod: AttachmentPod): Promise<void> {
  if (!(await attachmentPod.vmExists())) return;
  throw new ProductError(
    'DISK_ATTACHED_ELSEWHERE',
    `disk '${attachmentPod.diskCid}' is attached to ${attachmentPod.describeVm()}; detach it there first`,
  );
}

/** Deletes an attachment pod, unless it is terminating already, and waits until it is deleted. */
export async function removeAttachmentPod(call: CallContext, attachmentPod: AttachmentPod): Promise<void> {
  if (!attachmentPod.isTerminating) await attachmentPod.delete();
  await attachmentPod.waitForDeletion(call.config.deadlines.detachDisk);
}
