import type { CallContext } from '../call.ts';
import type { AttachDiskRequest } from '../protocol/methods.ts';
import { label } from '../objects/labels.ts';
import { findVm } from '../vm/vms.ts';
import { diskAttacher } from './attach/strategy.ts';
import { type PersistentVolumeClaim, claimReference, findDisk, requireUsable } from './disks.ts';
import { noPreviousCids } from './previous-cids.ts';

/**
 * attach_disk(vm_cid, disk_cid): attaches with the strategy that the VM was made with and returns the disk
 * hint, a directory in the VM that lies inside the volume (warden-style images take a path as it is).
 * Idempotent for a pair. An error leaves nothing behind, or reports that the disk may be in the VM and stays
 * attached. Model: hot.pml
 */
export async function attachDisk(call: CallContext, { vmCid, diskCid }: AttachDiskRequest): Promise<string> {
  const [pod, claim] = await Promise.all([findVm(call, vmCid), findDisk(call, diskCid)]);
  const attacher = await diskAttacher(call, vmCid, pod);
  const disk = requireUsable(call, diskCid, claim);
  const hint = await attacher.attach(disk);
  await acknowledgeReplacement(call, disk, diskCid);
  return hint;
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
