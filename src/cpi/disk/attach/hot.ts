import { progressPrefixes } from '../../../errors/text.ts';
import { ProductError } from '../../../errors/product-error.ts';
import { isApiError } from '../../../kubernetes/client/api-error.ts';
import type { Pod } from '../../../kubernetes/types/pod.ts';
import { describePodAndEvents } from '../../../kubernetes/describe-pod.ts';
import { pods } from '../../../kubernetes/resources.ts';
import { waitFor } from '../../../kubernetes/client/wait.ts';
import type { CallContext } from '../../call.ts';
import { annotation } from '../../objects/labels.ts';
import { vmNotFound } from '../../vm/vms.ts';
import { whileNodeAnswers } from '../../objects/node-state.ts';
import { waitForScheduling } from '../../objects/describe-pending.ts';
import { inspectPodHint, startProblem } from '../../vm/wait-until-running.ts';
import { hubPath } from '../../vm/pod.ts';
import type { PersistentVolumeClaim } from '../disks.ts';
import { type BindOutcome, runBindScript } from './container-commands.ts';
import { mountFailure, isTerminal, isRunning, attachmentPod } from './attachment-pod.ts';
import { lastVm, wasGivenTo } from './last-vm.ts';
import { recordAttachment } from './disk-owner.ts';
import {
  diskCidOf,
  attachmentReference,
  createAttachmentPod,
  describeVmOf,
  findAttachment,
  vmStillExists,
  attachmentPlanBase,
  deleteAttachmentPod,
  waitForAttachmentDeletion,
} from './attachments.ts';

/** The number of attempts if another call creates the attachment pod between the read and the create. */
const tries = 5;
const pauseMs = 500;

/**
 * Attaches a disk under the strategy `hot`: creates the attachment pod, records it on the claim and has its
 * mount container mount the volume in the VM. Returns the disk hint. On failure, deletes the attachment pod,
 * also one that an interrupted call left. Exception: if the disk may be mounted in the VM, the pod stays,
 * because a job may be writing and a deletion cannot be undone (take-back.ts). An attachment pod that a
 * detach_disk has released, and did not delete because it was killed, is replaced by a new one.
 * Model: hot.pml
 */
export async function attachHot(call: CallContext, vm: Pod, claim: PersistentVolumeClaim): Promise<string> {
  const diskCid = claim.metadata.name ?? '';
  const look = (now: PersistentVolumeClaim): Promise<void> => refuseMountElsewhere(call, now, vm);
  for (let left = tries; left > 0; left -= 1) {
    const held = { takesOver: wasGivenTo(claim, vm), look, ask: runBindScript };
    const { attachment, outcome } = await hold(call, vm, claim, held);
    if (outcome === 'bound') {
      await requireThere(call, attachment, diskCid);
      return `${hubPath}/disks/${diskCid}/store`;
    }
    await deleteAttachmentPod(call, attachment);
    await waitForAttachmentDeletion(call, attachment, call.config.deadlines.detachDisk);
  }
  throw madeByOthers(diskCid);
}

/** How `hold` finds or creates the attachment pod of a disk. */
interface Holding {
  /** The disk may still be mounted in the VM from an earlier attachment pod. */
  readonly takesOver: boolean;
  /** Checks the claim again if it has changed since the caller read it; an error ends the call. */
  readonly look: (now: PersistentVolumeClaim) => Promise<void>;
  /** Runs the bind script when the mount container runs. */
  readonly ask: (call: CallContext, attachment: Pod, mark: string) => Promise<BindOutcome>;
}

interface Held {
  readonly attachment: Pod;
  /** The mark that was written to the claim (disk-owner.ts). */
  readonly mark: string;
  readonly outcome: 'bound' | 'released';
}

/**
 * Finds or creates the attachment pod of the disk and the VM, and returns it after its mount container has
 * answered. Model: hot.pml
 */
export async function hold(
  call: CallContext,
  vm: Pod,
  claim: PersistentVolumeClaim,
  holding: Holding,
): Promise<Held> {
  const diskCid = claim.metadata.name ?? '';
  const scheduled = await waitForScheduling(call, vm, () => vmNotFound(call, vm.metadata.name ?? ''));
  const { attachment, isNew } = await ensureAttachment(call, scheduled, claim, holding.takesOver);
  const nodeName = scheduled.spec.nodeName ?? '';
  let mark: string | undefined;
  try {
    // whoever made it may have looked before another VM got the disk
    if (!isNew) await holding.look(claim);
    mark = await recordAttachment(call, attachment, { claim, look: holding.look });
    const outcome = await waitUntilHeld(call, attachment, { diskCid, nodeName, mark, ask: holding.ask });
    return { attachment, mark, outcome };
  } catch (error) {
    const { takenBack: rollBack } = await import('./take-back.ts');
    throw await rollBack(call, attachment, { error, mark });
  }
}

/**
 * Rejects if the attachment pod was force-deleted while the bind script ran in it: another call may then have
 * found the VM without the disk.
 */
async function requireThere(call: CallContext, { metadata }: Pod, diskCid: string): Promise<void> {
  const now = await findAttachment(call, diskCid);
  if (now?.metadata.uid !== metadata.uid || now?.metadata.deletionTimestamp !== undefined)
    throw deletedMeanwhile(diskCid);
}

/**
 * `ours`: of this VM. `ended`: of this VM, but terminal; a new one adopts its mount (hold.ts).
 * `ending`: terminating.
 */
type AttachmentState = 'none' | 'ours' | 'ended' | 'ending' | 'of another pod';

/** Returns the state of an existing attachment pod, seen from the VM that requests the disk. */
function attachmentState(existing: Pod | undefined, vm: Pod): AttachmentState {
  if (existing === undefined) return 'none';
  if (existing.metadata.deletionTimestamp !== undefined) return 'ending';
  if (existing.metadata.annotations?.[annotation.vmUid] !== vm.metadata.uid) return 'of another pod';
  return isTerminal(existing) ? 'ended' : 'ours';
}

/**
 * Finds or creates the attachment pod. Before it creates one, it checks that no other VM has the disk
 * mounted.
 */
async function ensureAttachment(
  call: CallContext,
  vm: Pod,
  claim: PersistentVolumeClaim,
  adoptExisting: boolean,
): Promise<{ readonly attachment: Pod; readonly isNew: boolean }> {
  const diskCid = claim.metadata.name ?? '';
  let takesOver = adoptExisting;
  for (let left = tries; left > 0; left -= 1) {
    const existing = await findAttachment(call, diskCid);
    const state = attachmentState(existing, vm);
    if (existing !== undefined && state === 'ours') return { attachment: existing, isNew: false };
    takesOver ||= state === 'ended';
    const wanted = attachmentPod({ ...attachmentPlanBase(call, vm), diskCid, adoptsMount: takesOver });
    if (state === 'ended') await assertAdmitted(call, wanted);
    if (existing !== undefined) await clear(call, existing, state);
    await refuseMountElsewhere(call, claim, vm);
    const created = await createAttachmentPod(call, wanted);
    if (created !== undefined) return { attachment: created, isNew: true };
  }
  throw madeByOthers(diskCid);
}

/** Rejects with DISK_ATTACHED_ELSEWHERE if another VM has the disk mounted without an attachment pod. */
export async function refuseMountElsewhere(
  call: CallContext,
  claim: PersistentVolumeClaim,
  vm: Pod,
): Promise<void> {
  if (!wasGivenTo(claim, vm)) await refuseLeftMount(call, claim);
}

/**
 * Rejects with DISK_ATTACHED_ELSEWHERE if another VM has the disk mounted although another program deleted
 * its attachment pod.
 */
export async function refuseLeftMount(call: CallContext, claim: PersistentVolumeClaim): Promise<void> {
  if (lastVm(claim) === undefined) return;
  const { vmWithLeftMount } = await import('./left-mount.ts');
  const vmCid = await vmWithLeftMount(call, claim);
  if (vmCid === undefined) return;
  throw new ProductError(
    'DISK_ATTACHED_ELSEWHERE',
    `disk '${claim.metadata.name ?? ''}' may still be mounted in VM '${vmCid}', though its attachment is gone; detach it there first, or delete that VM`,
  );
}

/**
 * Checks by dry run that the successor of a terminal attachment pod would be admitted, before the terminal
 * one is deleted: another pod may use its quota now. If the old pod were deleted and the new one refused, no
 * object would record that the disk is mounted. AlreadyExists means admitted: the server checks admission
 * first.
 */
async function assertAdmitted(call: CallContext, successor: Pod): Promise<void> {
  try {
    await call.api.dryRunCreate(pods, successor);
  } catch (error) {
    if (!isApiError(error, 409, 'AlreadyExists')) throw error;
  }
}

/** Removes a leftover attachment pod of the disk; DISK_ATTACHED_ELSEWHERE if an existing VM has the disk. */
export async function clearAttachment(call: CallContext, diskCid: string): Promise<void> {
  const existing = await findAttachment(call, diskCid);
  if (existing === undefined) return;
  await clear(
    call,
    existing,
    existing.metadata.deletionTimestamp === undefined ? 'of another pod' : 'ending',
  );
}

/** Deletes an attachment pod of a deleted VM. Never deletes one of an existing VM. */
async function clear(call: CallContext, existing: Pod, state: AttachmentState): Promise<void> {
  if (state === 'of another pod' && (await vmStillExists(call, existing))) {
    throw new ProductError(
      'DISK_ATTACHED_ELSEWHERE',
      `disk '${diskCidOf(existing)}' is attached to ${describeVmOf(call, existing)}; detach it there first`,
    );
  }
  if (state !== 'ending') await deleteAttachmentPod(call, existing);
  await waitForAttachmentDeletion(call, existing, call.config.deadlines.detachDisk);
}

async function waitUntilHeld(
  call: CallContext,
  attachment: Pod,
  asking: Asking & { readonly nodeName: string },
): Promise<Held['outcome']> {
  const { diskCid, nodeName } = asking;
  const attachmentDeletedError = (): ProductError => deletedMeanwhile(diskCid);
  const refuse = (words: string): Promise<never> => Promise.reject(notAttachableError(diskCid, words));
  return whileNodeAnswers(call, {
    nodeName,
    work: async (signal) => {
      const placed = await waitForScheduling(call, attachment, attachmentDeletedError, signal);
      return waitUntilMounted(call, placed, { ...asking, gone: attachmentDeletedError, signal });
    },
    whenLost: (lost) =>
      refuse(
        `node '${lost.name}' of the VM has not answered since ${lost.since} (${lost.words}); bring the node back or recreate the VM`,
      ),
    whenGivenUp: () => refuse(`node '${nodeName}' of the VM is gone or out of service; recreate the VM`),
  });
}

interface Asking {
  readonly diskCid: string;
  readonly mark: string;
  readonly ask: Holding['ask'];
}

interface Mounting extends Asking {
  /** Returns the error for an attachment pod that was deleted during the call. */
  readonly gone: () => ProductError;
  readonly signal: AbortSignal;
}

/**
 * Waits until the disk is mounted. A mount container that does not answer is restarting, or its kubelet is,
 * so the script is retried until the deadline.
 */
async function waitUntilMounted(
  call: CallContext,
  placed: Pod,
  mounting: Mounting,
): Promise<Held['outcome']> {
  const { clock, config } = call;
  const end = clock.now() + config.deadlines.attachDisk * 1000;
  let known: Pod | undefined = placed;
  let said = '';
  for (;;) {
    const deadlineMs = Math.max(0, end - clock.now());
    await waitUntilContainerRuns(call, placed, mounting, { deadlineMs, known });
    known = undefined;
    const outcome = await mounting.ask(call, placed, mounting.mark);
    if (outcome.kind === 'bound' || outcome.kind === 'released') return outcome.kind;
    if (outcome.kind === 'cannot') throw notAttachableError(mounting.diskCid, outcome.reason);
    if (clock.now() + pauseMs >= end) throw mountTimeoutError(call, mounting.diskCid, outcome.words);
    if (outcome.words !== said)
      call.reportProgress(
        `${progressPrefixes.waiting}the attachment of disk '${mounting.diskCid}' to answer: ${outcome.words}`,
      );
    said = outcome.words;
    await clock.sleep(pauseMs, mounting.signal);
    mounting.signal.throwIfAborted();
  }
}

async function waitUntilContainerRuns(
  call: CallContext,
  { metadata: { name = '', uid } }: Pod,
  { diskCid, gone, signal }: Mounting,
  { deadlineMs, known }: { readonly deadlineMs: number; readonly known: Pod | undefined },
): Promise<void> {
  await waitFor<Pod, true>({
    signal,
    api: call.api,
    clock: call.clock,
    reference: attachmentReference(call, name),
    known,
    condition: (pod) => {
      if (pod === undefined || pod.metadata.uid !== uid || pod.metadata.deletionTimestamp !== undefined)
        throw gone();
      // one failure is enough: the kubelet would restart it for ever
      const problem = mountFailure(pod) ?? startProblem(pod);
      if (problem !== undefined) throw notAttachableError(diskCid, problem);
      return isRunning(pod) ? true : undefined;
    },
    awaited: `disk '${diskCid}' to be mounted`,
    deadlineMs,
    lastWords: async (last) => ({
      state: await describePodAndEvents(call.api, { namespace: call.diskNamespace, name }, last),
      next: inspectPodHint,
    }),
    onProgress: call.reportProgress,
  });
}

function mountTimeoutError(call: CallContext, diskCid: string, words: string): ProductError {
  const seconds = call.config.deadlines.attachDisk;
  return new ProductError(
    'DEADLINE',
    `waited ${seconds} s for the attachment of disk '${diskCid}' to say that the disk is mounted; last: ${words}; see the log of its pod (kubectl logs), then attach it again`,
  );
}

const deletedMeanwhile = (diskCid: string): ProductError =>
  notAttachableError(diskCid, 'its attachment was deleted meanwhile');

function madeByOthers(diskCid: string): ProductError {
  return new ProductError(
    'DISK_NOT_ATTACHABLE',
    `disk '${diskCid}' cannot be attached: its attachment is made by others again and again; run the call again`,
  );
}

function notAttachableError(diskCid: string, why: string): ProductError {
  return new ProductError(
    'DISK_NOT_ATTACHABLE',
    `disk '${diskCid}' cannot be attached: ${why}; when that is mended, attach it again`,
  );
}
