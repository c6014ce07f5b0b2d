import { isProductError, ProductError } from '../../../errors/product-error.ts';
import { isApiError } from '../../../kubernetes/client/api-error.ts';
import type { CallContext } from '../../call.ts';
import { annotation } from '../../objects/labels.ts';
import { findClaim, isReplaced } from '../disks.ts';
import type { AttachmentPod } from './attachment-pod.ts';
import { revertAttachment } from './attachment-record.ts';
import { lockOwner } from './disk-lock.ts';
import { endUnlessBoundExit, endUnlessBoundScript } from './scripts/volume-functions.ts';

const maxAttempts = 5;
const execTimeoutMs = 40_000;

export interface AttachFailure {
  readonly error: unknown;
  /** The mark that the call wrote to the claim (attachment-record.ts), if it got that far. */
  readonly mark: string | undefined;
}

/**
 * Rolls a failed attach_disk back and returns its error after the attachment pod is deleted. The attachment
 * pod stays if the disk may be in the VM: another call for the same pair may have succeeded, and a job may be
 * writing. The error then reports this, and also if the attachment pod is not deleted in time. Model: hot.pml
 */
export async function rollBackAttach(
  call: CallContext,
  attachmentPod: AttachmentPod,
  { error, mark }: AttachFailure,
): Promise<unknown> {
  const { diskCid } = attachmentPod;
  try {
    const outcome = await deleteUnlessBound(call, attachmentPod);
    if (outcome === 'stays') return await appendToMessage(error, staysAttached(diskCid));
    if (outcome === 'never bound' && mark !== undefined) await revertAttachment(call, diskCid, mark);
    return error;
  } catch (rollBackError) {
    if (!(rollBackError instanceof Error)) throw rollBackError;
    return appendToMessage(error, `the roll-back failed: ${rollBackError.message}`);
  }
}

const staysAttached = (diskCid: string): string =>
  `disk '${diskCid}' may be in the VM, so its attachment pod stays: the same call again finishes the attach, detach_disk detaches the disk`;

async function appendToMessage(error: unknown, text: string): Promise<unknown> {
  if (isApiError(error)) {
    const { explainApiError } = await import('../../errors/explain-api-error.ts');
    return appendToMessage(explainApiError(error), text);
  }
  if (!isProductError(error)) return error;
  return new ProductError(error.code, `${error.message}; ${text}`, { cause: error });
}

/**
 * `deleted`: another program has deleted the attachment pod, or no call can have succeeded; it is not known
 * what its mount container did.
 */
type Outcome = 'stays' | 'never bound' | 'deleted';

/**
 * Deletes an attachment pod that cannot have the disk in the VM, and waits until it is deleted. Judges its
 * current state, and deletes only the version that it judged.
 */
async function deleteUnlessBound(call: CallContext, attachmentPod: AttachmentPod): Promise<Outcome> {
  const isVain = await cannotSucceed(call, attachmentPod);
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const current = await attachmentPod.reread();
    if (current === undefined) return 'deleted';
    const { isTerminating } = current;
    if (!isTerminating && !isVain && (await mayBeInVm(current))) return 'stays';
    if (!isTerminating && !(await current.deleteIfUnchanged())) continue;
    await current.waitForDeletion(call.config.deadlines.detachDisk);
    return isTerminating || isVain ? 'deleted' : 'never bound';
  }
  return 'stays';
}

/**
 * Returns true if no attach_disk to a VM of this strategy can have succeeded: the disk is deleted,
 * delete_disk is deleting it, update_disk has replaced it, or a VM of the strategy `recreate` has it; also if
 * the VM of the attachment pod is deleted. The mount container then unmounts the volume as soon as nothing
 * uses it.
 */
async function cannotSucceed(call: CallContext, attachmentPod: AttachmentPod): Promise<boolean> {
  const claim = await findClaim(call, attachmentPod.diskCid);
  if (claim === undefined || isReplaced(claim)) return true;
  const { deletionTimestamp, annotations = {} } = claim.metadata;
  if (deletionTimestamp !== undefined) return annotations[annotation.deleting] !== undefined;
  return (await lockOwner(call, claim)) !== undefined || !(await attachmentPod.vmExists());
}

async function mayBeInVm(attachmentPod: AttachmentPod): Promise<boolean> {
  if (attachmentPod.isTerminal) return true;
  if (!attachmentPod.mayBeMounted) return false;
  return attachmentPod.adoptsMount || !attachmentPod.isRunning || !(await endIfUnbound(attachmentPod));
}

/**
 * Has the mount container end unless it has mounted the disk. Returns true if it has not mounted the disk,
 * and will not do so any more.
 */
async function endIfUnbound(attachmentPod: AttachmentPod): Promise<boolean> {
  const script = { name: 'end-unless-bound', text: endUnlessBoundScript };
  try {
    const { exitCode } = await attachmentPod.exec(script, execTimeoutMs);
    return exitCode === endUnlessBoundExit.ended;
  } catch (error) {
    if (!isApiError(error) && !isProductError(error)) throw error;
    // the container cannot be reached
    return false;
  }
}
