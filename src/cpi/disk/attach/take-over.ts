import type { Pod } from '../../../kubernetes/pod.ts';
import { conflictError } from '../../changed-by-others.ts';
import type { CallContext } from '../../cloud.ts';
import { annotation } from '../../labels.ts';
import type { PersistentVolumeClaim } from '../claim.ts';
import { findClaim } from '../claim.ts';
import { findAttachment } from './attachments.ts';
import type { BindOutcome } from './ask-to-bind.ts';
import { hold, refuseMountElsewhere } from './hot.ts';
import { isMountedInVm, isMountedOrRestarting } from './is-mounted.ts';
import { attachedAgain } from './mark-detached.ts';
import { wasDetachedFrom, wasGivenAgain, wasGivenTo } from './last-vm.ts';

/** An attachment pod that has adopted the existing mount in the VM. */
export interface TakenOver {
  readonly attachment: Pod;
  /** Its mark on the claim (mark-attached.ts). */
  readonly mark: number;
}

export interface TakeOver {
  readonly diskCid: string;
  /**
   * An attachment pod of the disk and that VM, which the call has seen; undefined: none. `mark`: that of the
   * last attach_disk that the call knows of.
   */
  readonly former?: { readonly attachment: Pod; readonly mark: number };
}

/**
 * Creates an attachment pod for a disk that is mounted in an existing VM without one, because the pod was
 * force-deleted, or deleted while its container could not run. The new pod mounts nothing, and can unmount
 * the existing mount. Returns undefined if the disk is not mounted there, or is deleted. A VM whose container
 * waits for its restart counts as having the disk if the claim says that the disk was last attached to it, or
 * if there is a `former` pod and no detach_disk has recorded its release. A disk that was never on the VM is
 * not attached to it. Rejects as `isMountedInVm` does, and with DISK_BUSY if an attach_disk has attached the
 * disk to the VM since `former`. Model: hot.pml
 */
export async function adoptMount(
  cloud: CallContext,
  vm: Pod,
  { diskCid, former }: TakeOver,
): Promise<TakenOver | undefined> {
  if (vm.metadata.deletionTimestamp !== undefined) return undefined;
  const claim = await findClaim(cloud, diskCid);
  if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return undefined;
  if (former !== undefined) refuseLater(claim, former);
  const mayComeBack = wasGivenTo(claim, vm) || (former !== undefined && !wasDetachedFrom(claim, vm));
  const isMounted = mayComeBack ? isMountedOrRestarting : isMountedInVm;
  if (!(await isMounted(cloud, vm, diskCid))) return undefined;
  const look = (now: PersistentVolumeClaim): Promise<void> => {
    if (former !== undefined) refuseLater(now, former);
    return refuseMountElsewhere(cloud, now, vm);
  };
  // the disk is mounted: if another detach_disk releases it now, it must not be mounted again
  const ask = (): Promise<BindOutcome> => Promise.resolve({ kind: 'bound' });
  const { mark } = await hold(cloud, vm, claim, { takesOver: true, look, ask });
  const attachment = await findAttachment(cloud, diskCid);
  // another VM's may have the name by now
  if (attachment === undefined || !isOf(attachment, vm))
    throw conflictError('DISK_BUSY', `the attachment of disk '${diskCid}'`);
  return { attachment, mark: Number(mark) };
}

const isOf = (attachment: Pod, vm: Pod): boolean =>
  attachment.metadata.annotations?.[annotation.vmUid] === vm.metadata.uid;

function refuseLater(
  claim: PersistentVolumeClaim,
  { attachment, mark }: NonNullable<TakeOver['former']>,
): void {
  const vmUid = attachment.metadata.annotations?.[annotation.vmUid];
  if (wasGivenAgain(claim, vmUid, mark)) throw attachedAgain(attachment);
}
