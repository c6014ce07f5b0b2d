import type { CallContext } from '../call.ts';
import type { HasDiskRequest } from '../protocol/methods.ts';
import { findDisk } from './disks.ts';

/**
 * has_disk(disk_cid): true while its claim exists, bound or not, or a replacement of it; false for anything
 * that is not a cid of the CPI.
 */
export async function hasDisk(call: CallContext, { diskCid }: HasDiskRequest): Promise<boolean> {
  return diskCid !== undefined && (await findDisk(call, diskCid)) !== undefined;
}
