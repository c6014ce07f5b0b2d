import type { Cloud } from '../cloud.ts';
import { findClaim } from './claim.ts';

/** has_disk(disk_cid): true while the claim exists, bound or not; false for anything that is no cid of ours. */
export async function hasDisk(cloud: Cloud, args: readonly unknown[]): Promise<boolean> {
  return typeof args[0] === 'string' && (await findClaim(cloud, args[0])) !== undefined;
}
