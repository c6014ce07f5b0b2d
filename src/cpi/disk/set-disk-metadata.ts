import { ignoreNotFound } from '../../kubernetes/api.ts';
import type { PersistentVolumeClaim } from '../../kubernetes/types/storage.ts';
import { conflictError } from '../objects/objects.ts';
import type { CallContext } from '../call.ts';
import type { DiskMetadataRequest } from '../protocol/methods.ts';
import { label, metadataPatch } from '../objects/labels.ts';
import { claimReference, isReplaced, findDisk, diskNotFoundError } from './disks.ts';
import { noPreviousCids } from './previous-cids.ts';

/** The number of attempts if a replacement takes the disk's place between the read and the write. */
const maxAttempts = 3;

/**
 * set_disk_metadata(disk_cid, metadata): sends one patch, which also removes the mark `unclaimed`. Sends a
 * second one if a replacement has just taken the disk's place, because the replacement is the disk then.
 * DISK_NOT_FOUND without the disk, and for a claim that the CPI does not manage. Model: update.pml
 */
export async function setDiskMetadata(
  call: CallContext,
  { diskCid: cid, metadata }: DiskMetadataRequest,
): Promise<null> {
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const { name, labels: present } = (await findDisk(call, cid))?.metadata ?? {};
    if (name === undefined) throw diskNotFoundError(call, cid);
    // a caller that sets the metadata of a disk knows this cid
    const labels = { [label.unclaimed]: null, ...(name === cid && noPreviousCids(present)) };
    const patched = await patchIfExists(call, name, metadataPatch(metadata, labels));
    if (patched !== undefined && !isReplaced(patched)) return null;
  }
  throw conflictError('DISK_BUSY', `disk '${cid}'`);
}

async function patchIfExists(
  call: CallContext,
  name: string,
  patch: unknown,
): Promise<PersistentVolumeClaim | undefined> {
  return ignoreNotFound(call.api.patch<PersistentVolumeClaim>(claimReference(call, name), patch));
}
