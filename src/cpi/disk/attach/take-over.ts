import type { Pod } from '../../../kubernetes/pod.ts';
import { changedByOthers } from '../../changed-by-others.ts';
import type { Cloud } from '../../cloud.ts';
import { findClaim } from '../claim.ts';
import { findAttachment } from './attachments.ts';
import { attachHot } from './hot.ts';
import { isMountedInVm, isMountedOrComesBack } from './is-mounted.ts';
import { wasDetachedFrom, wasGivenTo } from './last-vm.ts';

/**
 * The attachment of a disk that is mounted in a living VM though it has none: it was deleted while its holder could not
 * run, or by force. A new one takes the mount over (bind-script.ts) and can let go of it. Undefined if the disk is not
 * there, or gone. A VM whose container waits for its restart has the disk if the claim says that the VM was given it last, or if
 * `wasAttached` and no detach_disk has noted its release; a disk that was never on the VM is not attached to it. Rejects as `isMountedInVm` does. Model: hot.pml
 */
export async function takeOver(
  cloud: Cloud,
  vm: Pod,
  diskCid: string,
  wasAttached = false,
): Promise<Pod | undefined> {
  if (vm.metadata.deletionTimestamp !== undefined) return undefined;
  const claim = await findClaim(cloud, diskCid);
  if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return undefined;
  const mayComeBack = wasGivenTo(claim, vm) || (wasAttached && !wasDetachedFrom(claim, vm));
  const isMounted = mayComeBack ? isMountedOrComesBack : isMountedInVm;
  if (!(await isMounted(cloud, vm, diskCid))) return undefined;
  await attachHot(cloud, vm, claim, true);
  const attachment = await findAttachment(cloud, diskCid);
  if (attachment === undefined) throw changedByOthers('DISK_BUSY', `the attachment of disk '${diskCid}'`);
  return attachment;
}
