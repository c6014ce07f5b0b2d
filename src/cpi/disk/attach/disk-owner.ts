import { ProductError } from '../../../errors/product-error.ts';
import { isApiError } from '../../../kubernetes/client/api-error.ts';
import { conflictError, waitForDeletion } from '../../objects/objects.ts';
import type { CallContext } from '../../call.ts';
import { annotation, label } from '../../objects/labels.ts';
import { findVm, findVmSecret, type VmSecret } from '../../vm/vms.ts';
import { podReference } from '../../objects/names.ts';
import { recordedDiskCids } from '../../vm/recorded-pod.ts';
import { discardReplacement } from '../update/replacement.ts';
import { type PersistentVolumeClaim, claimReference, findClaim, diskDeletedError } from '../disks.ts';
import type { Pod } from '../../../kubernetes/types/pod.ts';
import { lastVmWords, markOf } from './last-vm.ts';

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
  const there = { ...call, namespace: call.diskNamespace };
  try {
    return await livingVm(there, vmCid, claim);
  } catch (error) {
    if (there.namespace !== call.namespace && isApiError(error, 403)) return vmCid;
    throw error;
  }
}

async function livingVm(
  call: CallContext,
  vmCid: string,
  claim: PersistentVolumeClaim,
): Promise<string | undefined> {
  const secret = await findVmSecret(call, vmCid);
  if (secret !== undefined && isLockedBy(claim, secret)) return vmCid;
  const pod = await findVm(call, vmCid);
  const { name = '' } = claim.metadata;
  if (pod !== undefined && recordedDiskCids(pod).includes(name)) {
    await waitForDeletion(call, {
      reference: podReference(call, vmCid),
      uid: pod.metadata.uid ?? '',
      nodeName: pod.spec.nodeName,
      deadlineSeconds: call.config.deadlines.detachDisk,
      what: `the pod of the deleted VM '${vmCid}', which still has disk '${name}',`,
    });
  }
  return undefined;
}

/** Rejects with DISK_ATTACHED_ELSEWHERE if an existing VM has the disk. */
export async function assertNotLocked(call: CallContext, claim: PersistentVolumeClaim): Promise<void> {
  const holder = await lockOwner(call, claim);
  if (holder === undefined) return;
  throw new ProductError(
    'DISK_ATTACHED_ELSEWHERE',
    `disk '${claim.metadata.name ?? ''}' is attached to VM '${holder}'; detach it there first`,
  );
}

/**
 * Locks the disk for that VM; if two VMs try at once, one gets it. Returns the claim with the new lock. The
 * lock gets a new value also if the VM had the disk already, so that a slow detach_disk does not remove what
 * this call locked. The caller has checked for an attachment pod of the disk and for a leftover mount; `look`
 * checks again, and rejects, if the claim has changed since. Model: recreate.pml.
 */
export async function lockDisk(
  call: CallContext,
  first: PersistentVolumeClaim,
  { secret, look }: { secret: VmSecret; look: (now: PersistentVolumeClaim) => Promise<void> },
): Promise<PersistentVolumeClaim> {
  let claim = first;
  const { name = '' } = claim.metadata;
  for (let left = maxAttempts; left > 0; left -= 1) {
    if (!isLockedBy(claim, secret)) await assertNotLocked(call, claim);
    const locked = await patchSeen(call, claim, {
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
      throw diskDeletedError(name, 'was deleted meanwhile');
    // an update_disk may have started since; its copy would miss what the VM writes, so discard it
    await discardReplacement(call, now);
    await look(now);
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
  const { name = '' } = seen.metadata;
  for (let left = maxAttempts; left > 0; left -= 1) {
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

/** Returns true if the last detach_disk detached the disk from that VM, and no VM has got it since. */
export const wasDetachedFrom = (claim: PersistentVolumeClaim | undefined, secret: VmSecret): boolean =>
  claim?.metadata.annotations?.[annotation.detachedFrom] === secret.metadata.uid;

const lockOf = ({ metadata }: PersistentVolumeClaim): string | undefined =>
  metadata.annotations?.[annotation.lock];

/**
 * Removes the lock of a deleted VM from a claim. Rejects with DISK_ATTACHED_ELSEWHERE if a VM got the disk
 * since `claim` was read.
 */
export async function clearStaleLock(call: CallContext, claim: PersistentVolumeClaim): Promise<void> {
  let now: PersistentVolumeClaim | undefined = claim;
  for (let left = maxAttempts; left > 0; left -= 1) {
    if (now?.metadata.labels?.[label.vmId] === undefined) return;
    if ((await removeLock(call, now)) !== undefined) return;
    now = await findClaim(call, claim.metadata.name ?? '');
    if (now !== undefined) await assertNotLocked(call, now);
  }
  throw conflictError('DISK_NOT_ATTACHABLE', `disk '${claim.metadata.name ?? ''}'`);
}

const removeLock = (
  call: CallContext,
  claim: PersistentVolumeClaim,
  detachedFrom?: string,
): Promise<PersistentVolumeClaim | undefined> =>
  patchSeen(call, claim, {
    labels: { [label.vmId]: null },
    annotations: {
      [annotation.vmUid]: null,
      [annotation.lock]: null,
      ...(detachedFrom !== undefined && { [annotation.detachedFrom]: detachedFrom }),
    },
  });

/** Undefined if the claim has changed since it was read, or is deleted. */
async function patchSeen(
  call: CallContext,
  { metadata: { name = '', resourceVersion } }: PersistentVolumeClaim,
  metadata: { labels: object; annotations: object },
): Promise<PersistentVolumeClaim | undefined> {
  try {
    return await call.api.patch<PersistentVolumeClaim>(claimReference(call, name), {
      metadata: { resourceVersion, ...metadata },
    });
  } catch (error) {
    if (isApiError(error, 404) || isApiError(error, 409)) return undefined;
    throw error;
  }
}

const tries = 5;
/** Several controllers write to a claim in the moment in which it gets its volume. */
const markTries = 10;

/** The claim to mark. An error of `look` ends the call. */
export interface Marking {
  /** The claim as it was when the caller last checked whether another VM has the disk mounted. */
  readonly claim: PersistentVolumeClaim;
  /** Checks that again, if the claim has changed since. */
  readonly look: (now: PersistentVolumeClaim) => Promise<void>;
}

/**
 * Records the attachment on the claim. The attachment pod exists already. delete_disk and `recreate` read the
 * claim first, then look for attachment pods, then write with the resourceVersion that they read. So either
 * this patch makes their write conflict and they check again, or this patch comes later and this call sees
 * the result of their write. An update_disk that began after this call had read the claim is seen in the same
 * way, and its replacement is discarded. The patch has the resourceVersion of the claim that `look` checked:
 * another attach_disk may have attached the disk to its VM since, which may have it mounted although its
 * attachment pod was force-deleted. Returns the mark, a decimal number; each attach_disk writes a higher one.
 * Rejects if the disk is being deleted, and with DISK_ATTACHED_ELSEWHERE if an existing VM has it.
 * Model: hot.pml
 */
export async function recordAttachment(
  call: CallContext,
  attachment: Pod,
  marking: Marking,
): Promise<string> {
  const diskCid = marking.claim.metadata.name ?? '';
  const first = await raiseAttachment(call, attachment, marking);
  const marked = await removeDeletionMark(call, diskCid, first);
  await assertNotLocked(call, marked);
  await clearStaleLock(call, marked);
  await discardReplacement(call, marked);
  return String(markOf(first));
}

/**
 * Retries on conflicts: the scheduler and the volume binder write to the claim, too, as soon as the
 * attachment pod exists.
 */
async function raiseAttachment(
  call: CallContext,
  attachment: Pod,
  { claim, look }: Marking,
): Promise<PersistentVolumeClaim> {
  const { name: diskCid = '' } = claim.metadata;
  let seen = claim;
  for (let left = markTries; left > 0; left -= 1) {
    const { resourceVersion } = seen.metadata;
    const annotations = {
      [annotation.attachment]: String(markOf(seen) + 1),
      [annotation.attachedTo]: lastVmWords(attachment),
      [annotation.detachedFrom]: null,
    };
    const patch = { metadata: { resourceVersion, labels: { [label.unclaimed]: null }, annotations } };
    try {
      return await call.api.patch<PersistentVolumeClaim>(claimReference(call, diskCid), patch);
    } catch (error) {
      if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
    }
    const now = await findClaim(call, diskCid);
    if (now === undefined || now.metadata.deletionTimestamp !== undefined)
      throw diskDeletedError(diskCid, 'was deleted meanwhile');
    await look(now);
    seen = now;
  }
  throw conflictError('DISK_NOT_ATTACHABLE', `disk '${diskCid}'`);
}

/**
 * Removes the annotation `deleting`, which a delete_disk leaves on the claim if it was killed, or has seen
 * the attachment pod in time. It must be removed before attach_disk returns: otherwise a later deletion by
 * another program would look like one of delete_disk. It is removed only in the version that was read,
 * because a claim that delete_disk has deleted keeps it. Returns the claim without it.
 */
async function removeDeletionMark(
  call: CallContext,
  diskCid: string,
  first: PersistentVolumeClaim,
): Promise<PersistentVolumeClaim> {
  let claim: PersistentVolumeClaim | undefined = first;
  for (let left = tries; left > 0; left -= 1) {
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined)
      throw diskDeletedError(diskCid, 'was deleted meanwhile');
    const { resourceVersion, annotations = {} } = claim.metadata;
    if (annotations[annotation.deleting] === undefined) return claim;
    try {
      return await call.api.patch<PersistentVolumeClaim>(claimReference(call, diskCid), {
        metadata: { resourceVersion, annotations: { [annotation.deleting]: null } },
      });
    } catch (error) {
      if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
    }
    claim = await findClaim(call, diskCid);
  }
  throw conflictError('DISK_NOT_ATTACHABLE', `disk '${diskCid}'`);
}

/**
 * Reverts `recordAttachment` for an attachment pod that is deleted and never mounted the disk in the VM:
 * otherwise the claim says that the disk may be mounted there. Does nothing if another call has marked the
 * claim since. Model: hot.pml
 */
export async function unmarkAttached(call: CallContext, diskCid: string, mark: string): Promise<void> {
  for (let left = tries; left > 0; left -= 1) {
    const claim = await findClaim(call, diskCid);
    if (claim?.metadata.annotations?.[annotation.attachment] !== mark) return;
    const { resourceVersion } = claim.metadata;
    // the mark stays: the next one must be higher
    const annotations = { [annotation.attachedTo]: null };
    try {
      await call.api.patch(claimReference(call, diskCid), { metadata: { resourceVersion, annotations } });
      return;
    } catch (error) {
      if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
    }
  }
  throw conflictError('DISK_NOT_ATTACHABLE', `disk '${diskCid}'`);
}
