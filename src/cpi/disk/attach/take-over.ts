import type { Pod } from '../../../kubernetes/pod.ts';
import type { Cloud } from '../../cloud.ts';
import { findClaim } from '../claim.ts';
import { findAttachment } from './attachments.ts';
import { attachHot } from './hot.ts';
import { isMountedInVm } from './is-mounted.ts';

/**
 * The attachment of a disk that is mounted in a living VM though it has none: it was deleted while its holder could not
 * run, or by force. A new one takes the mount over (bind-script.ts) and can let go of it. Undefined where the disk is not
 * there, or gone. Rejects as `isMounted` does.
 */
export async function takeOver(
  cloud: Cloud,
  vm: Pod,
  diskCid: string,
  isMounted = isMountedInVm,
): Promise<Pod | undefined> {
  if (vm.metadata.deletionTimestamp !== undefined) return undefined;
  const claim = await findClaim(cloud, diskCid);
  if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return undefined;
  if (!(await isMounted(cloud, vm, diskCid))) return undefined;
  await attachHot(cloud, vm, diskCid, true);
  return findAttachment(cloud, diskCid);
}
