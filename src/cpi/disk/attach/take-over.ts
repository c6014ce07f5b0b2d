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

/** An attachment that has taken over what is mounted in the VM. */
export interface TakenOver {
  readonly attachment: Pod;
  /** What the claim says of it (mark-attached.ts). */
  readonly mark: number;
}

export interface TakeOver {
  readonly diskCid: string;
  /** The call has seen an attachment of the disk to that VM; absent: none. `mark`: that of the last attach_disk it knows of. */
  readonly former?: { readonly attachment: Pod; readonly mark: number };
}

/**
 * An attachment of a disk that is mounted in a living VM though it has none: it was deleted while its holder could not
 * run, or by force. A new one, which mounts nothing, can let go of the mount. Undefined if the disk is not there, or gone. A VM whose container waits for its restart has the disk if the claim says that the VM was given it last, or if
 * there is a `former` one and no detach_disk has noted its release; a disk that was never on the VM is not attached to it. Rejects as
 * `isMountedInVm` does, and with DISK_BUSY if an attach_disk has given the VM the disk since `former`. Model: hot.pml
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
  // it is in the VM: another detach_disk that releases it meanwhile must not find it mounted again
  const ask = (): Promise<BindOutcome> => Promise.resolve({ kind: 'bound' });
  const { mark } = await hold(cloud, vm, claim, { takesOver: true, look, ask });
  const attachment = await findAttachment(cloud, diskCid);
  if (attachment === undefined) throw conflictError('DISK_BUSY', `the attachment of disk '${diskCid}'`);
  return { attachment, mark: Number(mark) };
}

function refuseLater(
  claim: PersistentVolumeClaim,
  { attachment, mark }: NonNullable<TakeOver['former']>,
): void {
  const vmUid = attachment.metadata.annotations?.[annotation.vmUid];
  if (wasGivenAgain(claim, vmUid, mark)) throw attachedAgain(attachment);
}
