import type { Pod } from '../../../kubernetes/types/pod.ts';
import { conflictError } from '../../objects/objects.ts';
import type { CallContext } from '../../call.ts';
import { annotation } from '../../objects/labels.ts';
import { type PersistentVolumeClaim, findClaim } from '../disks.ts';
import { findAttachment, vmCidOf, createAttachmentPod, attachmentPlanBase, deleteAttachmentPod, waitForAttachmentDeletion } from './attachments.ts';
import { type BindOutcome, isMountedInVm, isMountedOrRestarting } from './container-commands.ts';
import { hold, refuseMountElsewhere } from './hot.ts';
import { attachedAgainError, wasDetachedFrom, wasAttachedAgain, wasAttachedTo } from './attachment-record.ts';
import { ProductError } from '../../../errors/product-error.ts';
import { findVm } from '../../vm/vms.ts';
import { pods } from '../../../kubernetes/resources.ts';
import { lockOwner } from './disk-lock.ts';
import { waitUntilOffNode } from './volume-attachments.ts';
import { vmContainerStatus } from '../../objects/layout.ts';
import { buildSweeperPod } from './attachment-pod-spec.ts';

/** An attachment pod that has adopted the existing mount in the VM. */
export interface TakenOver {
  readonly attachment: Pod;
  /** Its mark on the claim (disk-owner.ts). */
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
  call: CallContext,
  vm: Pod,
  { diskCid, former }: TakeOver,
): Promise<TakenOver | undefined> {
  if (vm.metadata.deletionTimestamp !== undefined) return undefined;
  const claim = await findClaim(call, diskCid);
  if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return undefined;
  if (former !== undefined) refuseLater(claim, former);
  const mayComeBack = wasAttachedTo(claim, vm) || (former !== undefined && !wasDetachedFrom(claim, vm));
  const isMounted = mayComeBack ? isMountedOrRestarting : isMountedInVm;
  if (!(await isMounted(call, vm, diskCid))) return undefined;
  const look = (now: PersistentVolumeClaim): Promise<void> => {
    if (former !== undefined) refuseLater(now, former);
    return refuseMountElsewhere(call, now, vm);
  };
  // the disk is mounted: if another detach_disk releases it now, it must not be mounted again
  const ask = (): Promise<BindOutcome> => Promise.resolve({ kind: 'bound' });
  const { mark } = await hold(call, vm, claim, { takesOver: true, look, ask });
  const attachment = await findAttachment(call, diskCid);
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
  if (wasAttachedAgain(claim, vmUid, mark)) throw attachedAgainError(attachment);
}

/**
 * Replaces an attachment pod that cannot be reached, because it is terminal (`isTerminal`) or deleted, by a
 * running one that adopts the existing mount. `mark`: that of the last attach_disk that the caller knows of.
 * Returns undefined if the VM has nothing mounted any more. Rejects as `adoptMount` and `assertNotMounted` do.
 * Model: hot.pml
 */
export async function replaceAttachmentPod(
  call: CallContext,
  former: { readonly attachment: Pod; readonly mark: number },
  diskCid: string,
): Promise<TakenOver | undefined> {
  const { attachment } = former;
  const vm = await findVm(call, vmCidOf(attachment));
  if (vm === undefined || vm.metadata.uid !== attachment.metadata.annotations?.[annotation.vmUid])
    return undefined;
  if (vm.metadata.deletionTimestamp === undefined) return adoptMount(call, vm, { diskCid, former });
  await assertNotMounted(call, vm, diskCid);
  return undefined;
}

/**
 * Rejects with DISK_BUSY if a terminating VM has the disk mounted without an attachment pod that runs.
 * Model: hot.pml
 */
export async function assertNotMounted(call: CallContext, vm: Pod, diskCid: string): Promise<void> {
  if (!(await isMountedInVm(call, vm, diskCid))) return;
  throw new ProductError(
    'DISK_BUSY',
    `disk '${diskCid}' is still mounted in VM '${vm.metadata.name ?? ''}', which is being deleted, and its attachment has ended; delete the VM, which takes the disk out`,
  );
}

/**
 * Finishes a detach that an earlier call began: it reached its deadline, or was killed, while the storage
 * driver still had the volume attached to the VM's node, or after it had recorded the detach on the claim.
 * Returns whether there was one. DISK_NOT_ATTACHED if the driver has the volume attached for a pod that no
 * detach ends. Model: hot.pml
 */
export async function finishDetach(call: CallContext, vm: Pod, diskCid: string): Promise<boolean> {
  const claim = await findClaim(call, diskCid);
  if (claim === undefined || (await lockOwner(call, claim)) !== undefined) return false;
  const { nodeName } = vm.spec;
  if (nodeName === undefined) return false;
  const user = await runningPodUsing(call, diskCid, nodeName);
  if (user === undefined)
    return (await waitUntilOffNode(call, claim, nodeName)) || wasDetachedFrom(claim, vm);
  throw new ProductError(
    'DISK_NOT_ATTACHED',
    `disk '${diskCid}' is not attached to VM '${vm.metadata.name ?? ''}', so there is nothing to detach; pod '${user}' on its node ` +
      `has the disk: stop that pod before the disk is attached elsewhere`,
  );
}

/** Returns a pod on that node that uses the claim and is not terminating. */
async function runningPodUsing(
  call: CallContext,
  claimName: string,
  nodeName: string,
): Promise<string | undefined> {
  const { items } = await call.api.list<Pod>(pods, {
    namespace: call.diskNamespace,
    fieldSelector: `spec.nodeName=${nodeName}`,
  });
  const user = items.find(
    ({ metadata, spec, status }) =>
      metadata.deletionTimestamp === undefined &&
      status?.phase !== 'Succeeded' &&
      status?.phase !== 'Failed' &&
      (spec.volumes ?? []).some((volume) => volume.persistentVolumeClaim?.claimName === claimName),
  );
  return user?.metadata.name;
}

/** A kubelet takes about a second to remove a pod that nothing keeps. */
const startGraceMs = 5000;

/**
 * Unblocks the deletion of a VM's pod that hangs on leftover mounts in its hub. An attachment pod that was
 * deleted while its container could not run, or was force-deleted, leaves its mount in the hub, and a kubelet
 * never unmounts the hub under a mount. If the pod stays although its containers have ended, creates a
 * sweeper, and deletes it when `gone` has settled. Sends no request if `gone` resolves in time.
 * Model: hot.pml
 */
export async function cleanUpHub(call: CallContext, vm: Pod, gone: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  const stable = gone.then(
    () => over.abort(),
    () => over.abort(),
  );
  let isMade = false;
  while (!isMade) {
    await call.clock.sleep(startGraceMs, over.signal);
    if (over.signal.aborted) return;
    const now = await findVm(call, vm.metadata.name);
    if (now === undefined || now.metadata.uid !== vm.metadata.uid) return;
    if (!isTerminal(now)) continue;
    // an existing sweeper was made by another call, and does the same
    await createAttachmentPod(call, buildSweeperPod(attachmentPlanBase(call, now)));
    isMade = true;
  }
  await stable;
  const sweeper = await findAttachment(call, vm.metadata.name ?? '');
  if (sweeper === undefined) return;
  await deleteAttachmentPod(call, sweeper);
  await waitForAttachmentDeletion(call, sweeper, call.config.deadlines.deleteVm);
}

/**
 * Returns true if the VM's container, the only one that has the hub mounted, has ended and will not run
 * again.
 */
function isTerminal({ metadata, spec, status }: Pod): boolean {
  return (
    metadata.deletionTimestamp !== undefined &&
    spec.nodeName !== undefined &&
    vmContainerStatus(status?.containerStatuses)?.state?.terminated !== undefined
  );
}
