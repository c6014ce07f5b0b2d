import { ProductError } from '../../errors/product-error.ts';
import { conflictError } from '../changed-by-others.ts';
import type { CallContext } from '../cloud.ts';
import type { Location } from '../input.ts';
import { child, stringAt } from '../input.ts';
import { annotation } from '../labels.ts';
import { findVm, vmNotFound } from '../vm/find-vm.ts';
import {
  findAttachment,
  deleteAttachmentPod,
  requestEndOfSeen,
  vmCidOf,
  waitForAttachmentDeletion,
} from './attach/attachments.ts';
import { isTerminal } from './attach/has-bound.ts';
import { claimsOf, assertClaimsRetained } from './attach/refuse-loss.ts';
import type { Release } from './attach/release.ts';
import { unmountFromVm } from './attach/release.ts';
import { markOf, wasGivenAgain } from './attach/last-vm.ts';
import { attachedAgain, markDetached } from './attach/mark-detached.ts';
import type { TakenOver } from './attach/take-over.ts';
import { waitUntilOffNode } from './attach/volume-attachments.ts';
import { strategyOf } from './attach/strategy.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import { isDiskCid } from '../names.ts';
import type { PersistentVolumeClaim } from './claim.ts';
import { isReplaced } from './claim.ts';
import { findDisk } from './find-disk.ts';

/** How often a detach may find that its attachment was deleted by others before it had released the disk. */
const tries = 5;

/**
 * detach_disk(vm_cid, disk_cid): returns when another VM, on another node too, can have the disk.
 * The holder is asked to release the disk before its pod is deleted, because a deletion cannot be taken back. If it could not confirm
 * that, the VM is asked whether it has the disk mounted. The claim says which VM the disk was taken from, so that the same call
 * succeeds again after one that was killed.
 * DISK_NOT_ATTACHED where the disk is not on that VM (VM_NOT_FOUND where there is no such VM either), DISK_BUSY while
 * something uses it, or the VM cannot be asked: it is then still attached. DISK_BUSY, too, if an attach_disk of the same pair came
 * while this call was running: the VM then has what that one attached. DISK_WOULD_BE_LOST where its claim was deleted by
 * somebody. Model: hot.pml
 */
export async function detachDisk(cloud: CallContext, args: readonly unknown[]): Promise<null> {
  const place: Location = { code: 'INVALID_ARGUMENT', path: 'detach_disk' };
  const vmCid = stringAt(args[0], child(place, 'vm_cid'));
  const diskCid = stringAt(args[1], child(place, 'disk_cid'));
  const { attachment, name } = await findAttachmentPod(cloud, diskCid);
  if (attachment !== undefined && vmCidOf(attachment) === vmCid) {
    const claim = await detach(cloud, attachment, name);
    if (claim === undefined || isReplaced(claim)) await detachCopy(cloud, vmCid, { diskCid, name });
    return null;
  }
  const vm = await findVm(cloud, vmCid);
  const left = attachment === undefined ? await adoptLeftoverMount(cloud, vm, name) : undefined;
  if (left !== undefined) await detach(cloud, left.attachment, name, left.mark);
  else if (attachment !== undefined || !(await finishKilledDetach(cloud, vm, name))) {
    await detachFromRecreated(cloud, vmCid, { pod: vm, diskCid: name });
  }
  return null;
}

/** An attach_disk that was killed may have left the attachment of a disk that its copy has replaced since: the VM may have both. */
async function detachCopy(
  cloud: CallContext,
  vmCid: string,
  { diskCid, name }: { diskCid: string; name: string },
): Promise<void> {
  const copy = (await findDisk(cloud, diskCid))?.metadata.name;
  if (copy === undefined || copy === name) return;
  const attachment = await findAttachment(cloud, copy);
  if (attachment !== undefined && vmCidOf(attachment) === vmCid) await detach(cloud, attachment, copy);
}

/**
 * Ends the attachment, and each that has to take its mount over because nothing confirmed its release. Resolves with the claim as it
 * was before that. An attach_disk that marks the claim after this call has read it came later: what it attaches stays, and this call
 * is DISK_BUSY. `mark`: what this call has written there itself.
 */
async function detach(
  cloud: CallContext,
  first: Pod,
  name: string,
  mark?: number,
): Promise<PersistentVolumeClaim | undefined> {
  let attachment: Pod = first;
  let known = mark;
  for (let left = tries; left > 0; left -= 1) {
    const [claim] = await claimsOf(cloud, [name]);
    const vmUid = attachment.metadata.annotations?.[annotation.vmUid];
    if (claim !== undefined && known !== undefined && wasGivenAgain(claim, vmUid, known))
      throw attachedAgain(attachment);
    known = markOf(claim);
    const next = await endAttachment(cloud, attachment, { name, claim });
    if (next === undefined) return claim;
    attachment = next.attachment;
    known = next.mark;
  }
  throw conflictError('DISK_BUSY', `the attachment of disk '${name}'`);
}

/** Resolves with an attachment that has to end before the disk is detached; undefined when it is. */
async function endAttachment(
  cloud: CallContext,
  attachment: Pod,
  { name, claim }: { name: string; claim: PersistentVolumeClaim | undefined },
): Promise<TakenOver | undefined> {
  assertClaimsRetained(vmCidOf(attachment), [claim]);
  const isGoing = attachment.metadata.deletionTimestamp !== undefined;
  const former = { attachment, mark: markOf(claim) };
  if (isTerminal(attachment) && !isGoing) {
    const next = await succeed(cloud, former, name);
    if (next !== undefined) return next;
  }
  const release = isGoing ? 'gone' : await released(cloud, former);
  if (release === 'released') await markDetached(cloud, claim, attachment);
  if (typeof release !== 'string') {
    if (!(await requestEndOfSeen(cloud, release))) return former;
  } else if (!isGoing) await deleteAttachmentPod(cloud, attachment);
  await waitForAttachmentDeletion(cloud, attachment, cloud.config.deadlines.detachDisk);
  if (release === 'gone') {
    const next = await succeed(cloud, former, name);
    if (next !== undefined) return next;
  }
  if (release !== 'released') await markDetached(cloud, claim, attachment);
  const { nodeName } = attachment.spec;
  if (claim !== undefined && nodeName !== undefined) await waitUntilOffNode(cloud, claim, nodeName);
  return undefined;
}

/** Nothing runs in an ended attachment, and the VM was asked. */
const released = async (cloud: CallContext, { attachment, mark }: TakenOver): Promise<Release> =>
  isTerminal(attachment) ? 'released' : unmountFromVm(cloud, attachment, mark);

/** Loaded only if the attachment could not be asked. */
const succeed = async (
  cloud: CallContext,
  former: TakenOver,
  diskCid: string,
): Promise<TakenOver | undefined> =>
  (await import('./attach/succeed-ended.ts')).replaceTerminalAttachment(cloud, former, diskCid);

/** Loaded only where a disk has no attachment: that is an error, or somebody deleted it. */
async function adoptLeftoverMount(
  cloud: CallContext,
  vm: Pod | undefined,
  diskCid: string,
): Promise<TakenOver | undefined> {
  if (vm === undefined || strategyOf(vm) === 'recreate' || !isDiskCid(diskCid)) return undefined;
  if (vm.metadata.deletionTimestamp !== undefined) {
    await (await import('./attach/succeed-ended.ts')).refuseMounted(cloud, vm, diskCid);
    return undefined;
  }
  return (await import('./attach/take-over.ts')).adoptMount(cloud, vm, { diskCid });
}

/** What a former call began, and whether there was such a thing: loaded where a disk has no attachment, as above. */
async function finishKilledDetach(
  cloud: CallContext,
  vm: Pod | undefined,
  diskCid: string,
): Promise<boolean> {
  if (vm === undefined || strategyOf(vm) === 'recreate' || !isDiskCid(diskCid)) return false;
  return (await import('./attach/finish-detach.ts')).finishDetach(cloud, vm, diskCid);
}

/** The attachment of a disk or, where its cid is a former one, of the copy that replaced it, and that one's name. */
async function findAttachmentPod(
  cloud: CallContext,
  diskCid: string,
): Promise<{ attachment: Pod | undefined; name: string }> {
  if (!isDiskCid(diskCid)) return { attachment: undefined, name: diskCid };
  const attachment = await findAttachment(cloud, diskCid);
  if (attachment !== undefined) return { attachment, name: diskCid };
  const name = (await findDisk(cloud, diskCid))?.metadata.name ?? diskCid;
  return { attachment: name === diskCid ? undefined : await findAttachment(cloud, name), name };
}

/** The strategy `recreate` has no attachment. DISK_NOT_ATTACHED for a VM that has another. */
async function detachFromRecreated(
  cloud: CallContext,
  vmCid: string,
  { pod, diskCid }: { pod: Pod | undefined; diskCid: string },
): Promise<void> {
  if (pod === undefined || strategyOf(pod) === 'recreate') {
    const { detachByRecreate, findRecreatedVm } = await import('./attach/recreate.ts');
    const vm = await findRecreatedVm(cloud, vmCid, pod);
    if (vm !== undefined) return detachByRecreate(cloud, vm, diskCid);
    throw vmNotFound(cloud, vmCid);
  }
  throw new ProductError(
    'DISK_NOT_ATTACHED',
    `disk '${diskCid}' is not attached to VM '${vmCid}', so there is nothing to detach`,
  );
}
