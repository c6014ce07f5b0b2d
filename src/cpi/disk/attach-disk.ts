import type { Pod } from '../../kubernetes/types/pod.ts';
import type { CallContext } from '../call.ts';
import type { AttachDiskRequest } from '../protocol/methods.ts';
import { label } from '../objects/labels.ts';
import { findVm } from '../vm/vms.ts';
import { requireActiveVm } from './attach/attachments.ts';
import { assertNotLocked } from './attach/disk-lock.ts';
import { attachHot, clearAttachment, refuseLeftMount } from './attach/hot.ts';
import type { RecreateStrategyVm } from './attach/recreate.ts';
import { strategyOf } from './attach/strategy.ts';
import { discardReplacement } from './update/replacement.ts';
import { type PersistentVolumeClaim, claimReference, findDisk, diskDeletedError, diskNotFoundError } from './disks.ts';
import { noPreviousCids } from './previous-cids.ts';

/**
 * attach_disk(vm_cid, disk_cid): attaches with the strategy that the VM was made with and returns the disk
 * hint, a directory in the VM that lies inside the volume (warden-style images take a path as it is).
 * Idempotent for a pair. An error leaves nothing behind, or reports that the disk may be in the VM and stays
 * attached. Model: hot.pml
 */
export async function attachDisk(call: CallContext, { vmCid, diskCid }: AttachDiskRequest): Promise<string> {
  const [pod, claim] = await Promise.all([findVm(call, vmCid), findDisk(call, diskCid)]);
  const recreated = await vmWithRecreateStrategy(call, vmCid, pod);
  if (recreated !== undefined) {
    const usable = requireUsableClaim(call, diskCid, claim);
    await clearAttachment(call, usable.metadata.name ?? '');
    await refuseLeftMount(call, usable);
    await discardReplacement(call, usable);
    const { attachByRecreate } = await import('./attach/recreate.ts');
    const hint = await attachByRecreate(call, recreated, usable);
    await acknowledgeReplacement(call, usable, diskCid);
    return hint;
  }
  const vm = await requireActiveVm(call, vmCid, pod);
  const usable = requireUsableClaim(call, diskCid, claim);
  await assertNotLocked(call, usable);
  await discardReplacement(call, usable);
  const hint = await attachHot(call, vm, usable);
  await acknowledgeReplacement(call, usable, diskCid);
  return hint;
}

function requireUsableClaim(
  call: CallContext,
  diskCid: string,
  claim: PersistentVolumeClaim | undefined,
): PersistentVolumeClaim {
  if (claim === undefined) throw diskNotFoundError(call, diskCid);
  if (claim.metadata.deletionTimestamp === undefined) return claim;
  throw diskDeletedError(diskCid, 'is being deleted');
}

/** Loads the other strategy only if the VM may have it. */
async function vmWithRecreateStrategy(
  call: CallContext,
  vmCid: string,
  pod: Pod | undefined,
): Promise<RecreateStrategyVm | undefined> {
  if (pod !== undefined && strategyOf(pod) === 'hot') return undefined;
  return (await import('./attach/recreate.ts')).findRecreateStrategyVm(call, vmCid, pod);
}

/**
 * Removes the previous cids of a replacement. A caller that uses the replacement's cid knows about the
 * update, so the previous cids stop resolving to it.
 */
async function acknowledgeReplacement(
  call: CallContext,
  { metadata }: PersistentVolumeClaim,
  cid: string,
): Promise<void> {
  if (metadata.name !== cid || metadata.labels?.[label.replaces] === undefined) return;
  await call.api.patch(claimReference(call, cid), { metadata: { labels: noPreviousCids(metadata.labels) } });
}
