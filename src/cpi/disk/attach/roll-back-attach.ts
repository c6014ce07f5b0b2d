import { isProductError, ProductError } from '../../../errors/product-error.ts';
import { isApiError } from '../../../kubernetes/client/api-error.ts';
import type { Pod } from '../../../kubernetes/types/pod.ts';
import type { CallContext } from '../../call.ts';
import { annotation } from '../../objects/labels.ts';
import { mountContainer } from '../../objects/layout.ts';
import { diskCidOf, findAttachment, vmStillExists, requestEndOfSeen, waitForAttachmentDeletion } from './attachments.ts';
import { findClaim, isReplaced } from '../disks.ts';
import { lockOwner } from './disk-lock.ts';
import { revertAttachment } from './attachment-record.ts';
import { endUnlessBoundExit, endUnlessBoundScript, untilReadyIn } from './scripts/volume-functions.ts';
import { mayBeMounted, isTerminal, isRunning, takesOver } from './attachment-pod.ts';

const tries = 5;
const deadlineMs = 40_000;

export interface Failure {
  readonly error: unknown;
  /** The mark that the call wrote to the claim (disk-owner.ts), if it got that far. */
  readonly mark: string | undefined;
}

/**
 * Rolls a failed attach_disk back and returns its error after the attachment pod is deleted. The attachment
 * pod stays if the disk may be in the VM: another call for the same pair may have succeeded, and a job may be
 * writing. The error then reports this, and also if the attachment pod is not deleted in time. Model: hot.pml
 */
export async function rollBackAttach(
  call: CallContext,
  attachment: Pod,
  { error, mark }: Failure,
): Promise<unknown> {
  try {
    const end = await endUnlessBound(call, attachment);
    if (end === 'stays') return await withWords(error, stays(attachment));
    if (end === 'never bound' && mark !== undefined) await revertAttachment(call, diskCidOf(attachment), mark);
    return error;
  } catch (second) {
    if (!(second instanceof Error)) throw second;
    return withWords(error, `taking it back failed: ${second.message}`);
  }
}

const stays = (attachment: Pod): string =>
  `disk '${diskCidOf(attachment)}' may be in the VM, so its attachment stays: the same call again finishes it, detach_disk takes the disk out`;

async function withWords(error: unknown, words: string): Promise<unknown> {
  if (isApiError(error)) {
    const { explainApiError } = await import('../../errors/explain-api-error.ts');
    return withWords(explainApiError(error), words);
  }
  if (!isProductError(error)) return error;
  return new ProductError(error.code, `${error.message}; ${words}`, { cause: error });
}

/**
 * `gone`: another program has deleted it, or no call can have succeeded; what its mount container did is not
 * known.
 */
type End = 'stays' | 'never bound' | 'gone';

/**
 * Deletes an attachment pod that cannot have the disk in the VM, and waits until it is deleted. Judges its
 * current state, and deletes only the version that it judged.
 */
async function endUnlessBound(call: CallContext, attachment: Pod): Promise<End> {
  const isVain = await cannotSucceed(call, attachment);
  for (let left = tries; left > 0; left -= 1) {
    const now = await findAttachment(call, diskCidOf(attachment));
    if (now === undefined || now.metadata.uid !== attachment.metadata.uid) return 'gone';
    const isGoing = now.metadata.deletionTimestamp !== undefined;
    if (!isGoing && !isVain && (await mayBeInVm(call, now))) return 'stays';
    if (!isGoing && !(await requestEndOfSeen(call, now))) continue;
    await waitForAttachmentDeletion(call, now, call.config.deadlines.detachDisk);
    return isGoing || isVain ? 'gone' : 'never bound';
  }
  return 'stays';
}

/**
 * Returns true if no attach_disk to a VM of this strategy can have succeeded: the disk is deleted,
 * delete_disk is deleting it, update_disk has replaced it, or a VM of the strategy `recreate` has it; also if
 * the VM of the attachment pod is deleted. The mount container then unmounts the volume as soon as nothing
 * uses it.
 */
async function cannotSucceed(call: CallContext, attachment: Pod): Promise<boolean> {
  const claim = await findClaim(call, diskCidOf(attachment));
  if (claim === undefined || isReplaced(claim)) return true;
  const { deletionTimestamp, annotations = {} } = claim.metadata;
  if (deletionTimestamp !== undefined) return annotations[annotation.deleting] !== undefined;
  return (await lockOwner(call, claim)) !== undefined || !(await vmStillExists(call, attachment));
}

async function mayBeInVm(call: CallContext, now: Pod): Promise<boolean> {
  if (isTerminal(now)) return true;
  if (!mayBeMounted(now)) return false;
  return takesOver(now) || !isRunning(now) || !(await isEndedByHolder(call, now));
}

/** Returns true if the mount container has not mounted the disk, and will not do so any more. */
async function isEndedByHolder(call: CallContext, now: Pod): Promise<boolean> {
  const { name = '', uid = '', annotations = {} } = now.metadata;
  const vmUid = annotations[annotation.vmUid] ?? '';
  const script = untilReadyIn(now) + endUnlessBoundScript;
  try {
    const { exitCode } = await call.exec({
      namespace: call.diskNamespace,
      pod: name,
      container: mountContainer,
      command: ['/bin/sh', '-c', script, 'end-unless-bound', diskCidOf(now), vmUid, uid],
      deadlineMs,
    });
    return exitCode === endUnlessBoundExit.ended;
  } catch (error) {
    if (!isApiError(error) && !isProductError(error)) throw error;
    // the container cannot be reached
    return false;
  }
}
