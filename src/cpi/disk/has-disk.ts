import type { CallContext } from '../call.ts';
import { findDisk } from './disks.ts';

/**
 * has_disk(disk_cid): true while its claim exists, bound or not, or a replacement of it; false for anything
 * that is not a cid of the CPI.
 */
export async function hasDisk(call: CallContext, args: readonly unknown[]): Promise<boolean> {
  return typeof args[0] === 'string' && (await findDisk(call, args[0])) !== undefined;
}
