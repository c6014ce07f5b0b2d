import { isProductError, ProductError } from '../../../errors/product-error.ts';
import { type ApiError, isApiError } from '../../../kubernetes/client/api-error.ts';
import type { Pod } from '../../../kubernetes/types/pod.ts';
import { conflictError } from '../../objects/objects.ts';
import type { CallContext } from '../../call.ts';
import { readNodeState, lostNodeError } from '../../objects/node-state.ts';
import { findVm, findVmSecret, vmNotFound, type VmSecret } from '../../vm/vms.ts';
import { recordedDiskCids, recordedPod, recordDisks, reconcileRecordedPod } from '../../vm/recorded-pod.ts';
import { hubPath } from '../../objects/layout.ts';
import { waitForAgent } from '../../vm/wait-for-agent.ts';
import { type PersistentVolumeClaim, findClaim } from '../disks.ts';
import { isLockedBy, lockDisk, unlockDisk, wasDetachedFrom } from './disk-owner.ts';
import { clearAttachment, refuseLeftMount } from './hot.ts';
import { assertNotInUse } from './container-commands.ts';
import { claimsOfRecreatedVm, assertClaimsRetained } from './attachments.ts';
import { strategyOf } from './strategy.ts';
import { waitUntilOffNode } from './volume-attachments.ts';

/** The number of attempts if other calls change the VM's record or the lock of the disk. */
const tries = 5;

/** A VM with the strategy `recreate`. Its pod is undefined between the old one and the new one. */
export interface RecreatedVm {
  readonly secret: VmSecret;
  readonly pod: Pod | undefined;
}

/**
 * Returns a VM of the strategy `recreate`, given its pod if it has one; undefined for a VM of another
 * strategy, and if there is no VM.
 */
export async function findRecreatedVm(
  call: CallContext,
  cid: string,
  pod: Pod | undefined,
): Promise<RecreatedVm | undefined> {
  if (pod !== undefined && strategyOf(pod) !== 'recreate') return undefined;
  const secret = await findVmSecret(call, cid);
  if (secret === undefined || strategyOf(secret) !== 'recreate') return undefined;
  return { secret, pod };
}

/** Returns the disks in the VM's record. */
export function disksOfRecreatedVm({ secret }: RecreatedVm): string[] {
  const recorded = recordedPod(secret);
  return recorded === undefined ? [] : recordedDiskCids(recorded);
}

/**
 * Attaches a disk under the strategy `recreate`: locks the claim for the VM, records the VM's disks, then
 * recreates its pod with the volume. If the call is killed at any point, the next one finishes it. The record
 * is written with the resourceVersion that was read before the disk was locked: if a detach_disk has changed
 * the record in between, everything is read and locked again. If the new pod does not start, the VM gets its
 * previous disks back, unless another call may have attached the disk (`takenBack`). Returns the disk hint,
 * the same as under `hot`. Model: recreate.pml.
 */
export async function attachByRecreate(
  call: CallContext,
  vm: RecreatedVm,
  claim: PersistentVolumeClaim,
): Promise<string> {
  const vmCid = cidOf(vm);
  const diskCid = claim.metadata.name ?? '';
  assertSameNamespace(call, vmCid, diskCid);
  assertClaimsRetained(vmCid, await claimsOfRecreatedVm(call, vmCid));
  if (!disksOfRecreatedVm(vm).includes(diskCid)) await assertNodeReachable(call, vm);
  const look = async (seen: PersistentVolumeClaim): Promise<void> => {
    await clearAttachment(call, diskCid);
    await refuseLeftMount(call, seen);
  };
  let now = vm;
  let known = claim;
  for (let left = tries; left > 0; left -= 1) {
    known = await lockDisk(call, known, { secret: now.secret, look });
    if (await recordAndSettle(call, now, known)) return `${hubPath}/disks/${diskCid}/store`;
    now = await readAgain(call, vmCid);
  }
  throw conflictError('DISK_NOT_ATTACHABLE', `VM '${vmCid}'`);
}

/** Returns false if the VM's Secret has changed since it was read: nothing is recorded then. */
async function recordAndSettle(
  call: CallContext,
  vm: RecreatedVm,
  claim: PersistentVolumeClaim,
): Promise<boolean> {
  const diskCid = claim.metadata.name ?? '';
  const cids = disksOfRecreatedVm(vm);
  const isNew = !cids.includes(diskCid);
  let { secret } = vm;
  const pod = await attempt().catch(async (error: unknown) => {
    if (!isProductError(error) && !isApiError(error)) throw error;
    throw await takenBack(call, { vm: { ...vm, secret }, claim, isNew }, error);
  });
  if (pod === undefined) return false;
  if (recordedDiskCids(pod).includes(diskCid)) return true;
  throw notAttachable(vm, diskCid, detachedMeanwhile);

  async function attempt(): Promise<Pod | undefined> {
    // a VM of the strategy `hot` may have got the disk between the read and the lock (disk-owner.ts)
    if (isNew) await clearAttachment(call, diskCid);
    const recorded = await recordDisks(call, secret, vm.pod, isNew ? [...cids, diskCid] : cids);
    if (recorded === undefined) return undefined;
    secret = recorded;
    const deadlineSeconds = call.config.deadlines.attachDisk;
    return reconcileRecordedPod(call, cidOf(vm), { recorded, deadlineSeconds });
  }
}

/**
 * Detaches by recreating the pod without the volume. Waits for the agent, because a director contacts it
 * immediately. DISK_BUSY, without changes, if a process in the VM uses the disk. DISK_BUSY also if an
 * attach_disk has attached the disk to the VM again since. DISK_NOT_ATTACHED if neither the record, nor the
 * pod, nor the claim names the attachment, and the claim does not say that the disk was last detached from
 * this very VM: in that case an earlier call has done the work, and this call succeeds. Model: recreate.pml.
 */
export async function detachByRecreate(call: CallContext, vm: RecreatedVm, diskCid: string): Promise<void> {
  let now = vm;
  let isAgain = false;
  for (let left = tries; left > 0; left -= 1) {
    const step = await detachOnce(call, now, { diskCid, isAgain });
    if (step === 'detached') return;
    isAgain ||= step === 'locked again';
    now = await readAgain(call, cidOf(vm));
  }
  throw conflictError('DISK_BUSY', `disk '${diskCid}'`);
}

interface Detaching {
  readonly diskCid: string;
  /** An earlier attempt of this call has removed the disk from the record. */
  readonly isAgain: boolean;
}

/**
 * Makes one attempt. Reads the claim first, then writes the record, even if the disks in it do not change: an
 * attach_disk that locked the disk before and has not recorded it yet then gets a conflict. One that locks
 * the disk later replaces the lock that was read.
 */
async function detachOnce(
  call: CallContext,
  vm: RecreatedVm,
  { diskCid, isAgain }: Detaching,
): Promise<'detached' | 'record changed' | 'locked again'> {
  const { secret, pod } = vm;
  const claim = await findClaim(call, diskCid);
  const isHeld = claim !== undefined && isLockedBy(claim, secret);
  const cids = disksOfRecreatedVm(vm);
  const isRecorded = cids.includes(diskCid);
  const podWithDisk = podWith(vm, diskCid);
  if (!isRecorded && podWithDisk === undefined && !isHeld) {
    if (isAgain || wasDetachedFrom(claim, secret)) return 'detached';
    throw new ProductError(
      'DISK_NOT_ATTACHED',
      `disk '${diskCid}' is not attached to VM '${cidOf(vm)}', so there is nothing to detach`,
    );
  }
  if (isAgain && isRecorded) throw attachedAgain(vm, diskCid);
  assertClaimsRetained(cidOf(vm), await claimsOfRecreatedVm(call, cidOf(vm)));
  if (isRecorded) await refuseDetach(call, vm, { diskCid, podWithDisk });
  const others = cids.filter((cid) => cid !== diskCid);
  const recorded = await recordDisks(call, secret, pod, others);
  if (recorded === undefined) return 'record changed';
  await settleWithout(call, { ...vm, secret: recorded }, diskCid);
  // before the unlock: if the call reaches its deadline here, the next call finishes it, and that one sees
  // neither the pod that had the disk nor its node
  if (claim !== undefined) await waitUntilOffNode(call, claim, podWithDisk?.spec.nodeName);
  if (!isHeld || (await unlockDisk(call, claim, { secret, detached: true }))) return 'detached';
  return 'locked again';
}

const podWith = ({ pod }: RecreatedVm, diskCid: string): Pod | undefined =>
  pod !== undefined && recordedDiskCids(pod).includes(diskCid) ? pod : undefined;

/** Rejects before any change. */
async function refuseDetach(
  call: CallContext,
  vm: RecreatedVm,
  { diskCid, podWithDisk }: { diskCid: string; podWithDisk: Pod | undefined },
): Promise<void> {
  await assertNodeReachable(call, vm);
  if (podWithDisk !== undefined) await assertNotInUse(call, podWithDisk, diskCid);
}

async function settleWithout(call: CallContext, vm: RecreatedVm, diskCid: string): Promise<void> {
  const deadlineSeconds = call.config.deadlines.detachDisk;
  const wanted = { recorded: vm.secret, deadlineSeconds };
  const made = await reconcileRecordedPod(call, cidOf(vm), wanted).catch((error: unknown) => {
    if (!isProductError(error)) throw error;
    throw new ProductError(
      'VM_NOT_RESTARTED',
      `VM '${cidOf(vm)}' does not start again without disk '${diskCid}': ${error.message}; detach the disk again or delete the VM`,
      { cause: error },
    );
  });
  if (recordedDiskCids(made).includes(diskCid)) throw attachedAgain(vm, diskCid);
  await waitForAgent(call, vm.secret, made);
}

const attachedAgain = (vm: RecreatedVm, diskCid: string): ProductError =>
  new ProductError(
    'DISK_BUSY',
    `disk '${diskCid}' was attached again to VM '${cidOf(vm)}' by another call meanwhile; if it is to be detached, run the call again`,
  );

const cidOf = ({ secret }: RecreatedVm): string => secret.metadata.name ?? '';

async function readAgain(call: CallContext, vmCid: string): Promise<RecreatedVm> {
  const vm = await findRecreatedVm(call, vmCid, await findVm(call, vmCid));
  if (vm === undefined) throw vmNotFound(call, vmCid);
  return vm;
}

/**
 * Rejects with NODE_LOST, without changes, if the node is lost: a pod does not end while its node does not
 * answer, and no other pod can take its name.
 */
async function assertNodeReachable(call: CallContext, { secret, pod }: RecreatedVm): Promise<void> {
  const nodeName = pod?.spec.nodeName;
  if (pod === undefined || nodeName === undefined) return;
  const state = await readNodeState(call, nodeName);
  if (state.kind !== 'lost') return;
  const stakes = recordedDiskCids(pod).map((cid) => `its disk '${cid}'`);
  throw lostNodeError(`the disks of VM '${secret.metadata.name ?? ''}' were not changed`, state, {
    stakes,
    isDeleting: false,
  });
}

/** Rejects a disk of another namespace: a pod can only mount claims of its own namespace. */
function assertSameNamespace(call: CallContext, vmCid: string, diskCid: string): void {
  const disks = call.diskNamespace;
  if (disks === call.namespace) return;
  throw new ProductError(
    'NOT_SUPPORTED',
    `disk '${diskCid}' of namespace ${disks} cannot be attached to VM '${vmCid}' of namespace ${call.namespace}: its strategy is recreate, and a pod mounts claims of its own namespace only; make the VM with the strategy hot or leave out kubernetes.disk_namespace`,
  );
}

interface Attempt {
  /** The VM with the Secret as this call wrote it or, if it did not write it, read it. */
  readonly vm: RecreatedVm;
  /** The claim as this call locked it. */
  readonly claim: PersistentVolumeClaim;
  /** True if the record did not name the disk before this call. */
  readonly isNew: boolean;
}

/**
 * Rolls the attach back and returns the error to report. If the VM does not get its previous disks back, the
 * error reports that, too. Removes only a disk that this call has added to a record which no call has written
 * since: each attach_disk writes the record, so no other call can have reported success for the disk.
 */
async function takenBack(
  call: CallContext,
  { vm, claim, isNew }: Attempt,
  error: ProductError | ApiError,
): Promise<ProductError | ApiError> {
  // a deleted VM has no disks
  if (isProductError(error, 'VM_NOT_FOUND')) return error;
  const diskCid = claim.metadata.name ?? '';
  const failure = (rest: string): ProductError =>
    notAttachable(vm, diskCid, `${error.message}${rest}`, error);
  if (!isNew) return failure(stays);
  try {
    const cids = disksOfRecreatedVm(vm).filter((cid) => cid !== diskCid);
    const { secret } = vm;
    const recorded = await recordDisks(call, secret, await findVm(call, cidOf(vm)), cids);
    if (recorded === undefined) {
      const now = await readAgain(call, cidOf(vm));
      return failure(disksOfRecreatedVm(now).includes(diskCid) ? stays : `; ${detachedMeanwhile}`);
    }
    const deadlineSeconds = call.config.deadlines.attachDisk;
    await reconcileRecordedPod(call, cidOf(vm), { recorded, deadlineSeconds });
    await unlockDisk(call, claim, { secret, detached: false });
    return isProductError(error, 'DISK_ATTACHED_ELSEWHERE') ? error : failure('');
  } catch (second) {
    if (!(second instanceof Error)) throw second;
    return failure(`; taking it back failed: ${second.message}; detach the disk to try that again`);
  }
}

const detachedMeanwhile = 'another call has detached it meanwhile; attach it again if the VM is to have it';
const stays =
  '; the disk stays attached, because another call may have attached it: attach_disk again finishes that, detach_disk takes the disk from the VM';

function notAttachable(vm: RecreatedVm, diskCid: string, words: string, cause?: Error): ProductError {
  return new ProductError(
    'DISK_NOT_ATTACHABLE',
    `disk '${diskCid}' cannot be attached to VM '${cidOf(vm)}': ${words}`,
    cause === undefined ? {} : { cause },
  );
}
