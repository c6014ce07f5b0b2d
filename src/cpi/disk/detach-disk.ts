import { ProductError } from '../../errors/product-error.ts';
import type { Cloud } from '../cloud.ts';
import type { Place } from '../input.ts';
import { at, stringAt } from '../input.ts';
import { findVm, vmNotFound } from '../vm/find-vm.ts';
import { findAttachment, requestEnd, vmCidOf, waitUntilEnded } from './attach/attachments.ts';
import { isEnded } from './attach/has-bound.ts';
import { claimsOf, refuseLoss } from './attach/refuse-loss.ts';
import { releaseDisk } from './attach/release.ts';
import { waitUntilVolumeDetached } from './attach/volume-attachments.ts';
import { strategyOf } from './attach/strategy.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import { isDiskCid } from '../names.ts';
import { findDisk } from './find-disk.ts';

/**
 * detach_disk(vm_cid, disk_cid): returns when another VM, on another node too, can have the disk.
 * The holder is asked to release the disk before its pod is deleted, because a deletion cannot be taken back.
 * DISK_NOT_ATTACHED where the disk is not on that VM (VM_NOT_FOUND where there is no such VM either), DISK_BUSY while
 * something uses it: it is then still attached. DISK_WOULD_BE_LOST where its claim was deleted by somebody.
 */
export async function detachDisk(cloud: Cloud, args: readonly unknown[]): Promise<null> {
  const place: Place = { code: 'INVALID_ARGUMENT', path: 'detach_disk' };
  const vmCid = stringAt(args[0], at(place, 'vm_cid'));
  const diskCid = stringAt(args[1], at(place, 'disk_cid'));
  const { attachment, name } = await attachmentOf(cloud, diskCid);
  if (attachment === undefined || vmCidOf(attachment) !== vmCid) {
    const vm = await findVm(cloud, vmCid);
    const left = attachment === undefined ? await leftMount(cloud, vm, name) : undefined;
    if (left !== undefined) await detach(cloud, left, name);
    else if (attachment !== undefined || !(await finishDetach(cloud, vm, name))) {
      await detachFromRecreated(cloud, vmCid, { pod: vm, diskCid: name });
    }
    return null;
  }
  await detach(cloud, await askable(cloud, attachment, name), name);
  return null;
}

/** Loaded only where a kubelet has ended the attachment: it could not be asked. */
async function askable(cloud: Cloud, attachment: Pod, diskCid: string): Promise<Pod> {
  if (!isEnded(attachment) || attachment.metadata.deletionTimestamp !== undefined) return attachment;
  return (await import('./attach/succeed-ended.ts')).succeedEnded(cloud, attachment, diskCid);
}

async function detach(cloud: Cloud, attachment: Pod, name: string): Promise<void> {
  const vmCid = vmCidOf(attachment);
  refuseLoss(vmCid, await claimsOf(cloud, [name]));
  if (attachment.metadata.deletionTimestamp === undefined) {
    if (!isEnded(attachment)) await releaseDisk(cloud, attachment);
    await requestEnd(cloud, attachment);
  }
  await waitUntilEnded(cloud, attachment, cloud.config.deadlines.detachDisk);
  await waitUntilVolumeDetached(cloud, name, attachment.spec.nodeName);
}

/** Loaded only where a disk has no attachment: that is an error, or somebody deleted it. */
async function leftMount(cloud: Cloud, vm: Pod | undefined, diskCid: string): Promise<Pod | undefined> {
  if (vm === undefined || strategyOf(vm) === 'recreate' || !isDiskCid(diskCid)) return undefined;
  return (await import('./attach/take-over.ts')).takeOver(cloud, vm, diskCid);
}

/** What a former call began, and whether there was such a thing: loaded where a disk has no attachment, as above. */
async function finishDetach(cloud: Cloud, vm: Pod | undefined, diskCid: string): Promise<boolean> {
  if (vm === undefined || strategyOf(vm) === 'recreate' || !isDiskCid(diskCid)) return false;
  return (await import('./attach/finish-detach.ts')).finishDetach(cloud, vm, diskCid);
}

/** The attachment of a disk or, where its cid is a former one, of the copy that replaced it, and that one's name. */
async function attachmentOf(
  cloud: Cloud,
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
  cloud: Cloud,
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
