import type { Stored } from '../../../kubernetes/object.ts';
import type { CallContext } from '../../call.ts';
import { conflictError } from '../../objects/objects.ts';
import { type PersistentVolumeClaim, findClaim } from '../disks.ts';
import type { AttachmentPod } from './attachment-pod.ts';
import { attachedAgainError, markOf, recordDetach, wasAttachedAgain } from './attachment-record.ts';
import { type Release, unmountFromVm } from './container-commands.ts';
import type { MarkedAttachmentPod } from './leftover-mounts.ts';
import { assertClaimsRetained } from './retained-claims.ts';
import { waitUntilOffNode } from './volume-attachments.ts';

/** The number of attempts if other programs delete the attachment pod before it has released the disk. */
const maxAttempts = 5;

/**
 * Detaches the disk of an attachment pod: deletes that pod, and each further attachment pod that was created
 * for the same mount because nothing confirmed its release. Returns the claim as it was before the detach. If
 * an attach_disk marks the claim after this call has read it, the disk stays attached and this call rejects
 * with DISK_BUSY. `mark`: the mark that this call has written itself. Model: hot.pml
 */
export async function detachHot(
  call: CallContext,
  first: AttachmentPod,
  claimName: string,
  mark?: number,
): Promise<PersistentVolumeClaim | undefined> {
  let attachmentPod = first;
  let knownMark = mark;
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const claim = await findClaim(call, claimName);
    if (
      claim !== undefined &&
      knownMark !== undefined &&
      wasAttachedAgain(claim, attachmentPod.vmUid, knownMark)
    )
      throw attachedAgainError(attachmentPod);
    knownMark = markOf(claim);
    const remaining = await releaseAndDelete(call, attachmentPod, claimName, claim);
    if (remaining === undefined) return claim;
    attachmentPod = remaining.attachmentPod;
    knownMark = remaining.mark;
  }
  throw conflictError('DISK_BUSY', `the attachment of disk '${claimName}'`);
}

/**
 * Makes one attempt. The mount container must release the disk before its pod is deleted, because a deletion
 * cannot be undone. Returns an attachment pod that must be deleted before the disk is detached; undefined if
 * the disk is detached.
 */
async function releaseAndDelete(
  call: CallContext,
  attachmentPod: AttachmentPod,
  claimName: string,
  claim: Stored<PersistentVolumeClaim> | undefined,
): Promise<MarkedAttachmentPod | undefined> {
  assertClaimsRetained(attachmentPod.vmCid, [claim]);
  const { isTerminal, isTerminating } = attachmentPod;
  const previous = { attachmentPod, mark: markOf(claim) };
  if (isTerminal && !isTerminating) {
    const successor = await replaceUnreachable(call, previous, claimName);
    if (successor !== undefined) return successor;
  }
  const release = isTerminating ? 'deleted' : await releaseDisk(call, previous);
  if (release === 'released') await recordDetach(call, claim, attachmentPod);
  if (typeof release !== 'string') {
    if (!(await release.deleteIfUnchanged())) return previous;
  } else if (!isTerminating) await attachmentPod.delete();
  await attachmentPod.waitForDeletion(call.config.deadlines.detachDisk);
  if (release === 'deleted') {
    const successor = await replaceUnreachable(call, previous, claimName);
    if (successor !== undefined) return successor;
  }
  if (release !== 'released') await recordDetach(call, claim, attachmentPod);
  const { nodeName } = attachmentPod;
  if (claim !== undefined && nodeName !== undefined) await waitUntilOffNode(call, claim, nodeName);
  return undefined;
}

/** No process runs in a terminal attachment pod, and the VM was checked. */
const releaseDisk = async (
  call: CallContext,
  { attachmentPod, mark }: MarkedAttachmentPod,
): Promise<Release> => (attachmentPod.isTerminal ? 'released' : unmountFromVm(call, attachmentPod, mark));

/** Loads the module only if the attachment pod could not be reached. */
const replaceUnreachable = async (
  call: CallContext,
  previous: MarkedAttachmentPod,
  diskCid: string,
): Promise<MarkedAttachmentPod | undefined> =>
  (await import('./leftover-mounts.ts')).replaceAttachmentPod(call, previous, diskCid);
