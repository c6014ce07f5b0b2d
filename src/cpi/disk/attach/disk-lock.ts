import type { Stored } from '../../../kubernetes/object.ts';
import { ProductError } from '../../../errors/product-error.ts';
import { isApiError } from '../../../kubernetes/client/api-error.ts';
import { conflictError, waitForDeletion } from '../../objects/objects.ts';
import type { CallContext } from '../../call.ts';
import { annotation, label } from '../../objects/labels.ts';
import { findVm, findVmSecret, type VmSecret } from '../../vm/vms.ts';
import { podReference } from '../../objects/names.ts';
import { recordedDiskCids } from '../../vm/recorded-pod.ts';
import { discardReplacement } from '../update/replacement.ts';
import { type PersistentVolumeClaim, patchClaim, findClaim, diskDeletedError } from '../disks.ts';

const maxAttempts = 5;

/**
 * Returns true if that VM has the disk. Under `hot` the unique name of the attachment pod is the lock. Under
 * `recreate` the claim is the lock: it carries the VM's cid and the uid of its Secret, which distinguishes a
 * later VM of the same name. A deleted VM holds no lock.
 */
export const isLockedBy = ({ metadata }: PersistentVolumeClaim, secret: VmSecret): boolean =>
  metadata.labels?.[label.vmId] === secret.metadata.name &&
  metadata.annotations?.[annotation.vmUid] === secret.metadata.uid;

/**
 * Returns the cid of the existing VM that a claim names; undefined if there is none. A pod of a deleted VM
 * may still have the volume, so this waits for its end. A VM that cannot be read counts as existing.
 */
export async function lockOwner(
  call: CallContext,
  claim: PersistentVolumeClaim,
): Promise<string | undefined> {
  const vmCid = claim.metadata.labels?.[label.vmId];
  if (vmCid === undefined) return undefined;
  // a VM with such a disk is in the namespace of the claim; the VMs of this CPI may be in another one
  const diskCall = { ...call, namespace: call.diskNamespace };
  try {
    return await findLockingVm(diskCall, vmCid, claim);
  } catch (error) {
    if (diskCall.namespace !== call.namespace && isApiError(error, 403)) return vmCid;
    throw error;
  }
}

async function findLockingVm(
  call: CallContext,
  vmCid: string,
  claim: PersistentVolumeClaim,
): Promise<string | undefined> {
  const secret = await findVmSecret(call, vmCid);
  if (secret !== undefined && isLockedBy(claim, secret)) return vmCid;
  const pod = await findVm(call, vmCid);
  const { name } = claim.metadata;
  if (pod !== undefined && recordedDiskCids(pod).includes(name)) {
    await waitForDeletion(call, {
      reference: podReference(call, vmCid),
      uid: pod.metadata.uid,
      nodeName: pod.spec.nodeName,
      deadlineSeconds: call.config.deadlines.detachDisk,
      what: `the pod of the deleted VM '${vmCid}', which still has disk '${name}',`,
    });
  }
  return undefined;
}

/** Rejects with DISK_ATTACHED_ELSEWHERE if an existing VM has the disk. */
export async function assertNotLocked(call: CallContext, claim: PersistentVolumeClaim): Promise<void> {
  const vmCid = await lockOwner(call, claim);
  if (vmCid === undefined) return;
  throw new ProductError(
    'DISK_ATTACHED_ELSEWHERE',
    `disk '${claim.metadata.name}' is attached to VM '${vmCid}'; detach it there first`,
  );
}

/**
 * Locks the disk for that VM; if two VMs try at once, one gets it. Returns the claim with the new lock. The
 * lock gets a new value also if the VM had the disk already, so that a slow detach_disk does not remove what
 * this call locked. The caller has checked for an attachment pod of the disk and for a leftover mount;
 * `recheck` checks again, and rejects, if the claim has changed since. Model: recreate.pml.
 */
export async function lockDisk(
  call: CallContext,
  first: Stored<PersistentVolumeClaim>,
  { secret, recheck }: { secret: VmSecret; recheck: (current: PersistentVolumeClaim) => Promise<void> },
): Promise<Stored<PersistentVolumeClaim>> {
  let claim = first;
  const { name } = claim.metadata;
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    if (!isLockedBy(claim, secret)) await assertNotLocked(call, claim);
    const locked = await patchClaim(call, claim, {
      labels: { [label.vmId]: secret.metadata.name, [label.unclaimed]: null },
      annotations: {
        [annotation.vmUid]: secret.metadata.uid,
        [annotation.lock]: call.newUuid(),
        [annotation.detachedFrom]: null,
        [annotation.attachedTo]: null,
        [annotation.deleting]: null,
      },
    });
    if (locked !== undefined) return locked;
    const now = await findClaim(call, name);
    if (now === undefined || now.metadata.deletionTimestamp !== undefined)
      throw diskDeletedError(name, 'was deleted during this call');
    // an update_disk may have started since; its copy would miss what the VM writes, so discard it
    await discardReplacement(call, now);
    await recheck(now);
    claim = now;
  }
  throw conflictError('DISK_NOT_ATTACHABLE', `disk '${name}'`);
}

/**
 * Removes the lock of that VM from the disk if it is still the lock of `seen`. Returns false if an
 * attach_disk has locked the disk since: the VM has the disk, or is about to get it. Success if the VM does
 * not have the disk any more. The caller has written the VM's record since it read `seen`, and has checked
 * that neither the record nor the pod names the disk. `detached`: record on the claim that the disk was
 * detached from this VM. Idempotent. Model: recreate.pml.
 */
export async function unlockDisk(
  call: CallContext,
  seen: PersistentVolumeClaim,
  { secret, detached }: { secret: VmSecret; detached: boolean },
): Promise<boolean> {
  const { name } = seen.metadata;
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const claim = await findClaim(call, name);
    if (claim === undefined || !isLockedBy(claim, secret)) return true;
    if (lockOf(claim) !== lockOf(seen)) return false;
    // the uid of the Secret identifies the VM: each attach_disk makes another pod, and a later VM can have
    // the cid
    if ((await removeLock(call, claim, detached ? secret.metadata.uid : undefined)) !== undefined)
      return true;
  }
  throw conflictError('DISK_BUSY', `disk '${name}'`);
}

const lockOf = ({ metadata }: PersistentVolumeClaim): string | undefined =>
  metadata.annotations?.[annotation.lock];

/**
 * Removes the lock of a deleted VM from a claim. Rejects with DISK_ATTACHED_ELSEWHERE if a VM got the disk
 * since `claim` was read.
 */
export async function clearStaleLock(call: CallContext, claim: Stored<PersistentVolumeClaim>): Promise<void> {
  let now: Stored<PersistentVolumeClaim> | undefined = claim;
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    if (now?.metadata.labels?.[label.vmId] === undefined) return;
    if ((await removeLock(call, now)) !== undefined) return;
    now = await findClaim(call, claim.metadata.name);
    if (now !== undefined) await assertNotLocked(call, now);
  }
  throw conflictError('DISK_NOT_ATTACHABLE', `disk '${claim.metadata.name}'`);
}

const removeLock = (
  call: CallContext,
  claim: Stored<PersistentVolumeClaim>,
  detachedFrom?: string,
): Promise<PersistentVolumeClaim | undefined> =>
  patchClaim(call, claim, {
    labels: { [label.vmId]: null },
    annotations: {
      [annotation.vmUid]: null,
      [annotation.lock]: null,
      ...(detachedFrom !== undefined && { [annotation.detachedFrom]: detachedFrom }),
    },
  });
