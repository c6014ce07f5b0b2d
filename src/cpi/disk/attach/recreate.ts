import type { Stored } from '../../../kubernetes/object.ts';
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
import { discardReplacement } from '../update/replacement.ts';
import { assertNotMountedElsewhere, removeStaleAttachmentPod } from './attached-elsewhere.ts';
import { attachedAgainError, wasDetachedFrom } from './attachment-record.ts';
import { assertNotInUse } from './container-commands.ts';
import { isLockedBy, lockDisk, unlockDisk } from './disk-lock.ts';
import { findClaimsOfVm, assertClaimsRetained } from './retained-claims.ts';
import { type DiskAttacher, strategyOf } from './strategy.ts';
import { waitUntilOffNode } from './volume-attachments.ts';

/** The number of attempts if other calls change the VM's record or the lock of the disk. */
const maxAttempts = 5;

/** A VM with the strategy `recreate`. Its pod is undefined between the old one and the new one. */
export interface RecreateStrategyVm {
  readonly secret: Stored<VmSecret>;
  readonly pod: Pod | undefined;
}

/**
 * Returns a VM of the strategy `recreate`, given its pod if it has one; undefined for a VM of another
 * strategy, and if there is no VM.
 */
export async function findRecreateStrategyVm(
  call: CallContext,
  cid: string,
  pod: Pod | undefined,
): Promise<RecreateStrategyVm | undefined> {
  if (pod !== undefined && strategyOf(pod) !== 'recreate') return undefined;
  const secret = await findVmSecret(call, cid);
  if (secret === undefined || strategyOf(secret) !== 'recreate') return undefined;
  return { secret, pod };
}

/** Returns the cids of the disks in the VM's record. */
function disksIn(secret: Stored<VmSecret>): string[] {
  const recorded = recordedPod(secret);
  return recorded === undefined ? [] : recordedDiskCids(recorded);
}

/** Attaches disks to a VM by recreating its pod with another set of volumes. Model: recreate.pml. */
export class RecreateAttacher implements DiskAttacher {
  readonly #call: CallContext;
  readonly #vmCid: string;
  /** The VM as it was last read. */
  #vm: RecreateStrategyVm;

  constructor(call: CallContext, vm: RecreateStrategyVm) {
    this.#call = call;
    this.#vm = vm;
    this.#vmCid = vm.secret.metadata.name;
  }

  /**
   * Locks the claim for the VM, records the VM's disks, then recreates its pod with the volume. If the call
   * is killed at any point, the next one finishes it. The record is written with the resourceVersion that was
   * read before the disk was locked: if a detach_disk has changed the record in between, everything is read
   * and locked again. If the new pod does not start, the VM gets its previous disks back, unless another call
   * may have attached the disk (`#rollBack`). Returns the disk hint, the same as under `hot`.
   */
  async attach(first: Stored<PersistentVolumeClaim>): Promise<string> {
    const call = this.#call;
    const diskCid = first.metadata.name;
    const recheck = async (current: PersistentVolumeClaim): Promise<void> => {
      await removeStaleAttachmentPod(call, diskCid);
      await assertNotMountedElsewhere(call, current);
    };
    await recheck(first);
    await discardReplacement(call, first);
    assertSameNamespace(call, this.#vmCid, diskCid);
    await this.#assertClaimsRetained();
    if (!this.#recordedDisks.includes(diskCid)) await this.#assertNodeReachable();
    let claim = first;
    for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
      claim = await lockDisk(call, claim, { secret: this.#vm.secret, recheck });
      if (await this.#attachLocked(claim)) return `${hubPath}/disks/${diskCid}/store`;
      await this.#reread();
    }
    throw conflictError('DISK_NOT_ATTACHABLE', `VM '${this.#vmCid}'`);
  }

  /**
   * Recreates the pod without the volume. Waits for the agent, because a director contacts it immediately.
   * DISK_BUSY, without changes, if a process in the VM uses the disk. DISK_BUSY also if an attach_disk has
   * attached the disk to the VM again since. DISK_NOT_ATTACHED if neither the record, nor the pod, nor the
   * claim names the attachment, and the claim does not say that the disk was last detached from this very VM:
   * in that case an earlier call has done the work, and this call succeeds.
   */
  async detach(diskCid: string): Promise<void> {
    let isRemoved = false;
    for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
      const outcome = await this.#detachOnce(diskCid, isRemoved);
      if (outcome === 'detached') return;
      isRemoved ||= outcome === 'locked again';
      await this.#reread();
    }
    throw conflictError('DISK_BUSY', `disk '${diskCid}'`);
  }

  disks(): Promise<string[]> {
    return Promise.resolve(this.#recordedDisks);
  }

  /** The disks in the VM's record. */
  get #recordedDisks(): string[] {
    return disksIn(this.#vm.secret);
  }

  /** Returns false if the VM's Secret has changed since it was read: nothing is recorded then. */
  async #attachLocked(claim: PersistentVolumeClaim): Promise<boolean> {
    const diskCid = claim.metadata.name;
    const cids = this.#recordedDisks;
    const isNew = !cids.includes(diskCid);
    let { secret } = this.#vm;
    const attempt = async (): Promise<Pod | undefined> => {
      // a VM of the strategy `hot` may have got the disk between the read and the lock (attachment-record.ts)
      if (isNew) await removeStaleAttachmentPod(this.#call, diskCid);
      const desired = isNew ? [...cids, diskCid] : cids;
      const recorded = await recordDisks(this.#call, secret, this.#vm.pod, desired);
      if (recorded === undefined) return undefined;
      secret = recorded;
      const deadlineSeconds = this.#call.config.deadlines.attachDisk;
      return reconcileRecordedPod(this.#call, this.#vmCid, { recorded, deadlineSeconds });
    };
    const pod = await attempt().catch(async (error: unknown) => {
      if (!isProductError(error) && !isApiError(error)) throw error;
      throw await this.#rollBack({ secret, claim, isNew }, error);
    });
    if (pod === undefined) return false;
    if (recordedDiskCids(pod).includes(diskCid)) return true;
    throw this.#notAttachableError(diskCid, detachedByOtherCall);
  }

  /**
   * Rolls the attach back and returns the error to report. If the VM does not get its previous disks back,
   * the error reports that, too. Removes only a disk that this call has added to a record which no call has
   * written since: each attach_disk writes the record, so no other call can have reported success for the
   * disk.
   */
  async #rollBack(
    { secret, claim, isNew }: Attempt,
    error: ProductError | ApiError,
  ): Promise<ProductError | ApiError> {
    // a deleted VM has no disks
    if (isProductError(error, 'VM_NOT_FOUND')) return error;
    const call = this.#call;
    const diskCid = claim.metadata.name;
    const failure = (rest: string): ProductError =>
      this.#notAttachableError(diskCid, `${error.message}${rest}`, error);
    if (!isNew) return failure(staysAttached);
    try {
      const cids = disksIn(secret).filter((cid) => cid !== diskCid);
      const recorded = await recordDisks(call, secret, await findVm(call, this.#vmCid), cids);
      if (recorded === undefined) {
        await this.#reread();
        return failure(this.#recordedDisks.includes(diskCid) ? staysAttached : `; ${detachedByOtherCall}`);
      }
      const deadlineSeconds = call.config.deadlines.attachDisk;
      await reconcileRecordedPod(call, this.#vmCid, { recorded, deadlineSeconds });
      await unlockDisk(call, claim, { secret, detached: false });
      return isProductError(error, 'DISK_ATTACHED_ELSEWHERE') ? error : failure('');
    } catch (rollBackError) {
      if (!(rollBackError instanceof Error)) throw rollBackError;
      return failure(`; the roll-back failed: ${rollBackError.message}; detach the disk to try that again`);
    }
  }

  /**
   * Makes one attempt. `isRemoved`: an earlier attempt of this call has removed the disk from the record.
   * Reads the claim first, then writes the record, even if the disks in it do not change: an attach_disk that
   * locked the disk before and has not recorded it yet then gets a conflict. One that locks the disk later
   * replaces the lock that was read.
   */
  async #detachOnce(
    diskCid: string,
    isRemoved: boolean,
  ): Promise<'detached' | 'record changed' | 'locked again'> {
    const call = this.#call;
    const { secret, pod } = this.#vm;
    const claim = await findClaim(call, diskCid);
    const isLocked = claim !== undefined && isLockedBy(claim, secret);
    const cids = this.#recordedDisks;
    const isRecorded = cids.includes(diskCid);
    const podWithDisk = this.#podWith(diskCid);
    if (!isRecorded && podWithDisk === undefined && !isLocked) {
      if (isRemoved || wasDetachedFrom(claim, secret)) return 'detached';
      throw this.#notAttachedError(diskCid);
    }
    if (isRemoved && isRecorded) throw attachedAgainError({ diskCid, vmCid: this.#vmCid });
    await this.#assertClaimsRetained();
    if (isRecorded) await this.#assertDetachable(diskCid, podWithDisk);
    const remaining = cids.filter((cid) => cid !== diskCid);
    const recorded = await recordDisks(call, secret, pod, remaining);
    if (recorded === undefined) return 'record changed';
    await this.#recreateWithout(diskCid, recorded);
    // this comes before the unlock, so that the next call finishes the detach if this call reaches its
    // deadline here; the next call sees neither the pod that had the disk nor its node
    if (claim !== undefined) await waitUntilOffNode(call, claim, podWithDisk?.spec.nodeName);
    if (!isLocked || (await unlockDisk(call, claim, { secret, detached: true }))) return 'detached';
    return 'locked again';
  }

  /** The VM's pod if it has the disk. */
  #podWith(diskCid: string): Pod | undefined {
    const { pod } = this.#vm;
    return pod !== undefined && recordedDiskCids(pod).includes(diskCid) ? pod : undefined;
  }

  /** Rejects before any change. */
  async #assertDetachable(diskCid: string, podWithDisk: Pod | undefined): Promise<void> {
    await this.#assertNodeReachable();
    if (podWithDisk !== undefined) await assertNotInUse(this.#call, podWithDisk, diskCid);
  }

  async #recreateWithout(diskCid: string, recorded: Stored<VmSecret>): Promise<void> {
    const deadlineSeconds = this.#call.config.deadlines.detachDisk;
    const desired = { recorded, deadlineSeconds };
    const pod = await reconcileRecordedPod(this.#call, this.#vmCid, desired).catch((error: unknown) => {
      if (!isProductError(error)) throw error;
      throw new ProductError(
        'VM_NOT_RESTARTED',
        `VM '${this.#vmCid}' does not start again without disk '${diskCid}': ${error.message}; detach the disk again or delete the VM`,
        { cause: error },
      );
    });
    if (recordedDiskCids(pod).includes(diskCid)) throw attachedAgainError({ diskCid, vmCid: this.#vmCid });
    await waitForAgent(this.#call, recorded, pod);
  }

  async #reread(): Promise<void> {
    const pod = await findVm(this.#call, this.#vmCid);
    const vm = await findRecreateStrategyVm(this.#call, this.#vmCid, pod);
    if (vm === undefined) throw vmNotFound(this.#call, this.#vmCid);
    this.#vm = vm;
  }

  /** Rejects with DISK_WOULD_BE_LOST, without changes, if a disk would be deleted with the VM's pod. */
  async #assertClaimsRetained(): Promise<void> {
    assertClaimsRetained(this.#vmCid, await findClaimsOfVm(this.#call, this.#vmCid));
  }

  /**
   * Rejects with NODE_LOST, without changes, if the node is lost: a pod does not end while its node does not
   * answer, and no other pod can take its name.
   */
  async #assertNodeReachable(): Promise<void> {
    const { pod } = this.#vm;
    const nodeName = pod?.spec.nodeName;
    if (pod === undefined || nodeName === undefined) return;
    const state = await readNodeState(this.#call, nodeName);
    if (state.kind !== 'lost') return;
    const stakes = recordedDiskCids(pod).map((cid) => `its disk '${cid}'`);
    throw lostNodeError(`the disks of VM '${this.#vmCid}' were not changed`, state, {
      stakes,
      isDeleting: false,
    });
  }

  #notAttachedError(diskCid: string): ProductError {
    return new ProductError(
      'DISK_NOT_ATTACHED',
      `disk '${diskCid}' is not attached to VM '${this.#vmCid}', so there is nothing to detach`,
    );
  }

  #notAttachableError(diskCid: string, whyAndNext: string, cause?: Error): ProductError {
    return new ProductError(
      'DISK_NOT_ATTACHABLE',
      `disk '${diskCid}' cannot be attached to VM '${this.#vmCid}': ${whyAndNext}`,
      cause === undefined ? {} : { cause },
    );
  }
}

/** Rejects a disk of another namespace: a pod can only mount claims of its own namespace. */
function assertSameNamespace(call: CallContext, vmCid: string, diskCid: string): void {
  const disks = call.diskNamespace;
  if (disks === call.namespace) return;
  throw new ProductError(
    'NOT_SUPPORTED',
    `disk '${diskCid}' of namespace ${disks} cannot be attached to VM '${vmCid}' of namespace ${call.namespace}: its strategy is recreate, and a pod mounts claims of its own namespace only; create the VM with the strategy hot or leave out kubernetes.disk_namespace`,
  );
}

interface Attempt {
  /** The VM's Secret as this call wrote it or, if it did not write it, read it. */
  readonly secret: Stored<VmSecret>;
  /** The claim as this call locked it. */
  readonly claim: PersistentVolumeClaim;
  /** True if the record did not name the disk before this call. */
  readonly isNew: boolean;
}

const detachedByOtherCall = 'another call has detached it; attach it again if the VM needs it';
const staysAttached =
  '; the disk stays attached, because another call may have attached it: attach_disk again finishes that, detach_disk detaches the disk';
