import { ProductError } from '../../errors/product-error.ts';
import { conflictError } from '../objects/objects.ts';
import type { CallContext } from '../call.ts';
import type { AttachDiskRequest } from '../protocol/methods.ts';
import { annotation } from '../objects/labels.ts';
import { findVm, vmNotFound } from '../vm/vms.ts';
import { findAttachment, deleteAttachmentPod, requestEndOfSeen, vmCidOf, waitForAttachmentDeletion } from './attach/attachments.ts';
import { findClaims, assertClaimsRetained } from './attach/retained-claims.ts';
import { isTerminal } from './attach/attachment-pod.ts';
import { type Release, unmountFromVm } from './attach/container-commands.ts';
import { markOf, wasAttachedAgain, attachedAgainError, recordDetach } from './attach/attachment-record.ts';
import type { TakenOver } from './attach/leftover-mounts.ts';
import { waitUntilOffNode } from './attach/volume-attachments.ts';
import { strategyOf } from './attach/strategy.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { isDiskCid } from '../objects/names.ts';
import { type PersistentVolumeClaim, isReplaced, findDisk } from './disks.ts';

/** The number of attempts if other programs delete the attachment pod before it has released the disk. */
const tries = 5;

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
  const { attachment, name } = await findAttachmentPod(call, diskCid);
  if (attachment !== undefined && vmCidOf(attachment) === vmCid) {
    const claim = await detach(call, attachment, name);
    if (claim === undefined || isReplaced(claim)) await detachCopy(call, vmCid, { diskCid, name });
    return null;
  }
  const vm = await findVm(call, vmCid);
  const left = attachment === undefined ? await adoptLeftoverMount(call, vm, name) : undefined;
  if (left !== undefined) await detach(call, left.attachment, name, left.mark);
  else if (attachment !== undefined || !(await finishKilledDetach(call, vm, name))) {
    await detachFromRecreated(call, vmCid, { pod: vm, diskCid: name });
  }
  return null;
}

/**
 * Detaches the replacement of the disk, too. A killed attach_disk may have left the attachment pod of a disk
 * that was replaced afterwards: the VM may have both.
 */
async function detachCopy(
  call: CallContext,
  vmCid: string,
  { diskCid, name }: { diskCid: string; name: string },
): Promise<void> {
  const copy = (await findDisk(call, diskCid))?.metadata.name;
  if (copy === undefined || copy === name) return;
  const attachment = await findAttachment(call, copy);
  if (attachment !== undefined && vmCidOf(attachment) === vmCid) await detach(call, attachment, copy);
}

/**
 * Deletes the attachment pod, and each one that had to adopt its mount because nothing confirmed the release.
 * Returns the claim as it was before that. An attach_disk that marks the claim after this call has read it
 * came later: the disk stays attached, and this call rejects with DISK_BUSY. `mark`: the mark that this call
 * has written itself.
 */
async function detach(
  call: CallContext,
  first: Pod,
  name: string,
  mark?: number,
): Promise<PersistentVolumeClaim | undefined> {
  let attachment: Pod = first;
  let known = mark;
  for (let left = tries; left > 0; left -= 1) {
    const [claim] = await findClaims(call, [name]);
    const vmUid = attachment.metadata.annotations?.[annotation.vmUid];
    if (claim !== undefined && known !== undefined && wasAttachedAgain(claim, vmUid, known))
      throw attachedAgainError(attachment);
    known = markOf(claim);
    const next = await endAttachment(call, attachment, { name, claim });
    if (next === undefined) return claim;
    attachment = next.attachment;
    known = next.mark;
  }
  throw conflictError('DISK_BUSY', `the attachment of disk '${name}'`);
}

/**
 * Makes one attempt. Returns an attachment pod that must be deleted before the disk is detached; undefined if
 * the disk is detached.
 */
async function endAttachment(
  call: CallContext,
  attachment: Pod,
  { name, claim }: { name: string; claim: PersistentVolumeClaim | undefined },
): Promise<TakenOver | undefined> {
  assertClaimsRetained(vmCidOf(attachment), [claim]);
  const isGoing = attachment.metadata.deletionTimestamp !== undefined;
  const former = { attachment, mark: markOf(claim) };
  if (isTerminal(attachment) && !isGoing) {
    const next = await succeed(call, former, name);
    if (next !== undefined) return next;
  }
  const release = isGoing ? 'gone' : await released(call, former);
  if (release === 'released') await recordDetach(call, claim, attachment);
  if (typeof release !== 'string') {
    if (!(await requestEndOfSeen(call, release))) return former;
  } else if (!isGoing) await deleteAttachmentPod(call, attachment);
  await waitForAttachmentDeletion(call, attachment, call.config.deadlines.detachDisk);
  if (release === 'gone') {
    const next = await succeed(call, former, name);
    if (next !== undefined) return next;
  }
  if (release !== 'released') await recordDetach(call, claim, attachment);
  const { nodeName } = attachment.spec;
  if (claim !== undefined && nodeName !== undefined) await waitUntilOffNode(call, claim, nodeName);
  return undefined;
}

/** No process runs in a terminal attachment pod, and the VM was checked. */
const released = async (call: CallContext, { attachment, mark }: TakenOver): Promise<Release> =>
  isTerminal(attachment) ? 'released' : unmountFromVm(call, attachment, mark);

/** Loads the module only if the attachment pod could not be reached. */
const succeed = async (
  call: CallContext,
  former: TakenOver,
  diskCid: string,
): Promise<TakenOver | undefined> =>
  (await import('./attach/leftover-mounts.ts')).replaceAttachmentPod(call, former, diskCid);

/**
 * Loads the module only if a disk has no attachment pod: that is an error, or another program deleted the
 * pod.
 */
async function adoptLeftoverMount(
  call: CallContext,
  vm: Pod | undefined,
  diskCid: string,
): Promise<TakenOver | undefined> {
  if (vm === undefined || strategyOf(vm) === 'recreate' || !isDiskCid(diskCid)) return undefined;
  if (vm.metadata.deletionTimestamp !== undefined) {
    await (await import('./attach/leftover-mounts.ts')).assertNotMounted(call, vm, diskCid);
    return undefined;
  }
  return (await import('./attach/leftover-mounts.ts')).adoptMount(call, vm, { diskCid });
}

/**
 * Finishes a detach that an earlier call began. Returns whether there was one. Loads the module only if a
 * disk has no attachment pod.
 */
async function finishKilledDetach(call: CallContext, vm: Pod | undefined, diskCid: string): Promise<boolean> {
  if (vm === undefined || strategyOf(vm) === 'recreate' || !isDiskCid(diskCid)) return false;
  return (await import('./attach/leftover-mounts.ts')).finishDetach(call, vm, diskCid);
}

/**
 * Finds the attachment pod of a disk, and the name of its claim. If the cid is a previous one, both are those
 * of the replacement.
 */
async function findAttachmentPod(
  call: CallContext,
  diskCid: string,
): Promise<{ attachment: Pod | undefined; name: string }> {
  if (!isDiskCid(diskCid)) return { attachment: undefined, name: diskCid };
  const attachment = await findAttachment(call, diskCid);
  if (attachment !== undefined) return { attachment, name: diskCid };
  const name = (await findDisk(call, diskCid))?.metadata.name ?? diskCid;
  return { attachment: name === diskCid ? undefined : await findAttachment(call, name), name };
}

/**
 * Detaches under the strategy `recreate`, which has no attachment pods. DISK_NOT_ATTACHED for a VM of the
 * other strategy.
 */
async function detachFromRecreated(
  call: CallContext,
  vmCid: string,
  { pod, diskCid }: { pod: Pod | undefined; diskCid: string },
): Promise<void> {
  if (pod === undefined || strategyOf(pod) === 'recreate') {
    const { detachByRecreate, findRecreateStrategyVm: findRecreatedVm } = await import('./attach/recreate.ts');
    const vm = await findRecreatedVm(call, vmCid, pod);
    if (vm !== undefined) return detachByRecreate(call, vm, diskCid);
    throw vmNotFound(call, vmCid);
  }
  throw new ProductError(
    'DISK_NOT_ATTACHED',
    `disk '${diskCid}' is not attached to VM '${vmCid}', so there is nothing to detach`,
  );
}
