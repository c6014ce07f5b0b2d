import type { Stored } from '../../../kubernetes/object.ts';
import { ProductError } from '../../../errors/product-error.ts';
import { pods } from '../../../kubernetes/resources.ts';
import { type Pod, isTerminal } from '../../../kubernetes/types/pod.ts';
import type { CallContext } from '../../call.ts';
import { vmContainerStatus } from '../../objects/layout.ts';
import { conflictError } from '../../objects/objects.ts';
import { findVm } from '../../vm/vms.ts';
import { type PersistentVolumeClaim, findClaim } from '../disks.ts';
import { assertNotMountedElsewhere } from './attached-elsewhere.ts';
import { buildSweeperPod, hubPodPlan } from './attachment-pod-spec.ts';
import { AttachmentPod } from './attachment-pod.ts';
import { attachedAgainError, wasAttachedAgain, wasAttachedTo, wasDetachedFrom } from './attachment-record.ts';
import { isMountedInVm, isMountedOrRestarting } from './container-commands.ts';
import { lockOwner } from './disk-lock.ts';
import { ensureAttached } from './ensure-attached.ts';
import { waitUntilOffNode } from './volume-attachments.ts';

/** An attachment pod, and the mark of the last attach_disk that the call knows of (attachment-record.ts). */
export interface MarkedAttachmentPod {
  readonly attachmentPod: AttachmentPod;
  readonly mark: number;
}

/**
 * Creates an attachment pod for a disk that is mounted in an existing VM without one, because the pod was
 * force-deleted, or deleted while its container could not run. The new pod mounts nothing, and can unmount
 * the existing mount. `previous`: an attachment pod of the disk and that VM which the call has seen. Returns
 * undefined if the disk is not mounted there, or is deleted. A VM whose container waits for its restart
 * counts as having the disk if the claim says that the disk was last attached to it, or if there is a
 * `previous` pod and no detach_disk has recorded its release. A disk that was never on the VM is not attached
 * to it. Rejects as `isMountedInVm` does, and with DISK_BUSY if an attach_disk has attached the disk to the
 * VM since `previous`. Model: hot.pml
 */
export async function adoptMount(
  call: CallContext,
  vm: Stored<Pod>,
  diskCid: string,
  previous?: MarkedAttachmentPod,
): Promise<MarkedAttachmentPod | undefined> {
  if (vm.metadata.deletionTimestamp !== undefined) return undefined;
  const claim = await findClaim(call, diskCid);
  if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return undefined;
  if (previous !== undefined) assertNotAttachedAgain(claim, previous);
  const mayComeBack = wasAttachedTo(claim, vm) || (previous !== undefined && !wasDetachedFrom(claim, vm));
  const isMounted = mayComeBack ? isMountedOrRestarting : isMountedInVm;
  if (!(await isMounted(call, vm, diskCid))) return undefined;
  const { mark } = await ensureAttached(call, vm, claim, {
    adoptsMount: true,
    bind: false,
    recheck: (current) => {
      if (previous !== undefined) assertNotAttachedAgain(current, previous);
      return assertNotMountedElsewhere(call, current, vm);
    },
  });
  const attachmentPod = await AttachmentPod.find(call, diskCid);
  // another VM's may have the name by now
  if (attachmentPod?.belongsTo(vm) !== true)
    throw conflictError('DISK_BUSY', `the attachment of disk '${diskCid}'`);
  return { attachmentPod, mark: Number(mark) };
}

function assertNotAttachedAgain(
  claim: PersistentVolumeClaim,
  { attachmentPod, mark }: MarkedAttachmentPod,
): void {
  if (wasAttachedAgain(claim, attachmentPod.vmUid, mark)) throw attachedAgainError(attachmentPod);
}

/**
 * Replaces an attachment pod that cannot be reached, because it is terminal or deleted, by a running one that
 * adopts the existing mount. Returns undefined if the VM has nothing mounted any more. Rejects as
 * `adoptMount` and `assertNotMounted` do. Model: hot.pml
 */
export async function replaceAttachmentPod(
  call: CallContext,
  previous: MarkedAttachmentPod,
  diskCid: string,
): Promise<MarkedAttachmentPod | undefined> {
  const vm = await previous.attachmentPod.findVm();
  if (vm === undefined) return undefined;
  if (vm.metadata.deletionTimestamp === undefined) return adoptMount(call, vm, diskCid, previous);
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
    `disk '${diskCid}' is still mounted in VM '${vm.metadata.name}', which is being deleted, and its attachment pod has ended; delete the VM, which detaches the disk`,
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
    `disk '${diskCid}' is not attached to VM '${vm.metadata.name}', so there is nothing to detach; pod '${user}' on its node ` +
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
      !isTerminal({ status }) &&
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
 * sweeper, and deletes it when `deletion` is resolved or rejected. Sends no request if that happens in time.
 * Model: hot.pml
 */
export async function cleanUpHub(call: CallContext, vm: Pod, deletion: Promise<unknown>): Promise<void> {
  const deletionEnd = new AbortController();
  const deletionEnded = deletion.then(
    () => deletionEnd.abort(),
    () => deletionEnd.abort(),
  );
  let hasSweeper = false;
  while (!hasSweeper) {
    await call.clock.sleep(startGraceMs, deletionEnd.signal);
    if (deletionEnd.signal.aborted) return;
    const current = await findVm(call, vm.metadata.name);
    if (current === undefined || current.metadata.uid !== vm.metadata.uid) return;
    if (!hasEndedForGood(current)) continue;
    // an existing sweeper was made by another call, and does the same
    await AttachmentPod.create(call, buildSweeperPod(hubPodPlan(call, current)));
    hasSweeper = true;
  }
  await deletionEnded;
  const sweeper = await AttachmentPod.find(call, vm.metadata.name);
  if (sweeper === undefined) return;
  await sweeper.delete();
  await sweeper.waitForDeletion(call.config.deadlines.deleteVm);
}

/**
 * Returns true if the VM's container, the only one that has the hub mounted, has ended and will not run
 * again.
 */
function hasEndedForGood({ metadata, spec, status }: Pod): boolean {
  return (
    metadata.deletionTimestamp !== undefined &&
    spec.nodeName !== undefined &&
    vmContainerStatus(status?.containerStatuses)?.state?.terminated !== undefined
  );
}
