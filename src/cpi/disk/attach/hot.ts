import { ProductError } from '../../../errors/product-error.ts';
import { isApiError } from '../../../kubernetes/api-error.ts';
import type { Pod } from '../../../kubernetes/pod.ts';
import { describePodAndEvents } from '../../../kubernetes/pod-words.ts';
import { pods } from '../../../kubernetes/resources.ts';
import { waitFor } from '../../../kubernetes/wait.ts';
import type { CallContext } from '../../cloud.ts';
import { diskNamespaceOf } from '../../cloud.ts';
import { annotation } from '../../labels.ts';
import { vmNotFound } from '../../vm/find-vm.ts';
import { whileNodeAnswers } from '../../node/look-at-node.ts';
import { waitForScheduling } from '../../wait-for-node.ts';
import { inspectPodHint, startProblem } from '../../vm/start-problem.ts';
import { hubPath } from '../../vm/vm-pod.ts';
import type { PersistentVolumeClaim } from '../claim.ts';
import type { BindOutcome } from './ask-to-bind.ts';
import { runBindScript } from './ask-to-bind.ts';
import { mountFailure, isTerminal, isRunning } from './has-bound.ts';
import { attachmentPod } from './attachment-pod.ts';
import { lastVm, wasGivenTo } from './last-vm.ts';
import { recordAttachment } from './mark-attached.ts';
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

/** How often a name may be taken by another between our look and our create. */
const tries = 5;
const pauseMs = 500;

/**
 * Strategy `hot`: makes the attachment pod, marks the claim and has the holder mount the volume in the VM. Resolves with
 * the hint. What it made is taken back when it fails, and what a killed call left; a disk that may be in the VM stays there: a job may
 * be writing to it, and a deletion cannot be taken back (take-back.ts). An attachment that a detach_disk has released, which that call
 * deletes unless it was killed, is replaced by another one. Model: hot.pml
 */
export async function attachHot(cloud: CallContext, vm: Pod, claim: PersistentVolumeClaim): Promise<string> {
  const diskCid = claim.metadata.name ?? '';
  const look = (now: PersistentVolumeClaim): Promise<void> => refuseMountElsewhere(cloud, now, vm);
  for (let left = tries; left > 0; left -= 1) {
    const held = { takesOver: wasGivenTo(claim, vm), look, ask: runBindScript };
    const { attachment, outcome } = await hold(cloud, vm, claim, held);
    if (outcome === 'bound') {
      await requireThere(cloud, attachment, diskCid);
      return `${hubPath}/disks/${diskCid}/store`;
    }
    await deleteAttachmentPod(cloud, attachment);
    await waitForAttachmentDeletion(cloud, attachment, cloud.config.deadlines.detachDisk);
  }
  throw madeByOthers(diskCid);
}

/** What is to become of a disk in a VM. */
interface Holding {
  /** A former attachment may have left the disk in the VM. */
  readonly takesOver: boolean;
  /** Looks at the claim again if it has changed since the caller has read it; an error ends the call. */
  readonly look: (now: PersistentVolumeClaim) => Promise<void>;
  /** Asked of the holder when it runs. */
  readonly ask: (cloud: CallContext, attachment: Pod, mark: string) => Promise<BindOutcome>;
}

interface Held {
  readonly attachment: Pod;
  /** What was written on the claim (mark-attached.ts). */
  readonly mark: string;
  readonly outcome: 'bound' | 'released';
}

/** The attachment of the disk to the VM, found or made, after its holder has answered. Model: hot.pml */
export async function hold(
  cloud: CallContext,
  vm: Pod,
  claim: PersistentVolumeClaim,
  holding: Holding,
): Promise<Held> {
  const diskCid = claim.metadata.name ?? '';
  const scheduled = await waitForScheduling(cloud, vm, () => vmNotFound(cloud, vm.metadata.name ?? ''));
  const attachment = await ensureAttachment(cloud, scheduled, claim, holding.takesOver);
  const nodeName = scheduled.spec.nodeName ?? '';
  let mark: string | undefined;
  try {
    mark = await recordAttachment(cloud, attachment, { claim, look: holding.look });
    const outcome = await waitUntilHeld(cloud, attachment, { diskCid, nodeName, mark, ask: holding.ask });
    return { attachment, mark, outcome };
  } catch (error) {
    const { takenBack: rollBack } = await import('./take-back.ts');
    throw await rollBack(cloud, attachment, { error, mark });
  }
}

/** An attachment that was deleted by force while its holder was asked has let another call find the VM without the disk. */
async function requireThere(cloud: CallContext, { metadata }: Pod, diskCid: string): Promise<void> {
  const now = await findAttachment(cloud, diskCid);
  if (now?.metadata.uid !== metadata.uid || now?.metadata.deletionTimestamp !== undefined)
    throw deletedMeanwhile(diskCid);
}

/** `ended`: ours, and nothing runs in it any more; a new one takes over what it left (bind-script.ts). */
type AttachmentState = 'none' | 'ours' | 'ended' | 'ending' | 'of another pod';

/** How an attachment that is there stands to the VM that the disk is wanted on. Pure. */
function attachmentState(existing: Pod | undefined, vm: Pod): AttachmentState {
  if (existing === undefined) return 'none';
  if (existing.metadata.deletionTimestamp !== undefined) return 'ending';
  if (existing.metadata.annotations?.[annotation.vmUid] !== vm.metadata.uid) return 'of another pod';
  return isTerminal(existing) ? 'ended' : 'ours';
}

async function ensureAttachment(
  cloud: CallContext,
  vm: Pod,
  claim: PersistentVolumeClaim,
  adoptExisting: boolean,
): Promise<Pod> {
  const diskCid = claim.metadata.name ?? '';
  let takesOver = adoptExisting;
  for (let left = tries; left > 0; left -= 1) {
    const existing = await findAttachment(cloud, diskCid);
    const state = attachmentState(existing, vm);
    if (existing !== undefined && state === 'ours') return existing;
    takesOver ||= state === 'ended';
    const wanted = attachmentPod({ ...attachmentPlanBase(cloud, vm), diskCid, adoptsMount: takesOver });
    if (state === 'ended') await assertAdmitted(cloud, wanted);
    if (existing !== undefined) await clear(cloud, existing, state);
    await refuseMountElsewhere(cloud, claim, vm);
    const created = await createAttachmentPod(cloud, wanted);
    if (created !== undefined) return created;
  }
  throw madeByOthers(diskCid);
}

/** Rejects with DISK_ATTACHED_ELSEWHERE if another VM than this one has the disk mounted without an attachment. */
export async function refuseMountElsewhere(
  cloud: CallContext,
  claim: PersistentVolumeClaim,
  vm: Pod,
): Promise<void> {
  if (!wasGivenTo(claim, vm)) await refuseLeftMount(cloud, claim);
}

/** Rejects with DISK_ATTACHED_ELSEWHERE if another VM has the disk mounted though its attachment was deleted by others. */
export async function refuseLeftMount(cloud: CallContext, claim: PersistentVolumeClaim): Promise<void> {
  if (lastVm(claim) === undefined) return;
  const { vmWithLeftMount } = await import('./left-mount.ts');
  const vmCid = await vmWithLeftMount(cloud, claim);
  if (vmCid === undefined) return;
  throw new ProductError(
    'DISK_ATTACHED_ELSEWHERE',
    `disk '${claim.metadata.name ?? ''}' may still be mounted in VM '${vmCid}', though its attachment is gone; detach it there first, or delete that VM`,
  );
}

/**
 * Rejects where the successor of an ended attachment would be refused, whose room in a quota may be another's by now: without
 * either nothing would tell that the disk is in the VM. A server says so before it says that the name is taken.
 */
async function assertAdmitted(cloud: CallContext, successor: Pod): Promise<void> {
  try {
    await cloud.api.create<Pod>(pods, successor, { dryRun: true });
  } catch (error) {
    if (!isApiError(error, 409, 'AlreadyExists')) throw error;
  }
}

/** Ends what is left of an attachment of the disk; DISK_ATTACHED_ELSEWHERE where a living VM has it. */
export async function clearAttachment(cloud: CallContext, diskCid: string): Promise<void> {
  const existing = await findAttachment(cloud, diskCid);
  if (existing === undefined) return;
  await clear(
    cloud,
    existing,
    existing.metadata.deletionTimestamp === undefined ? 'of another pod' : 'ending',
  );
}

/** An attachment to a VM that is no more is ended; one to a living VM is not ours to end. */
async function clear(cloud: CallContext, existing: Pod, state: AttachmentState): Promise<void> {
  if (state === 'of another pod' && (await vmStillExists(cloud, existing))) {
    throw new ProductError(
      'DISK_ATTACHED_ELSEWHERE',
      `disk '${diskCidOf(existing)}' is attached to ${describeVmOf(cloud, existing)}; detach it there first`,
    );
  }
  if (state !== 'ending') await deleteAttachmentPod(cloud, existing);
  await waitForAttachmentDeletion(cloud, existing, cloud.config.deadlines.detachDisk);
}

async function waitUntilHeld(
  cloud: CallContext,
  attachment: Pod,
  asking: Asking & { readonly nodeName: string },
): Promise<Held['outcome']> {
  const { diskCid, nodeName } = asking;
  const vmDeletedError = (): ProductError => deletedMeanwhile(diskCid);
  const refuse = (words: string): Promise<never> => Promise.reject(notAttachableError(diskCid, words));
  return whileNodeAnswers(cloud, {
    nodeName,
    work: async (signal) => {
      const placed = await waitForScheduling(cloud, attachment, vmDeletedError, signal);
      return waitUntilMounted(cloud, placed, { ...asking, gone: vmDeletedError, signal });
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
  /** The error where the attachment was deleted meanwhile. */
  readonly gone: () => ProductError;
  readonly signal: AbortSignal;
}

/** A holder that does not answer is starting again, or its kubelet is: it is asked until the deadline. */
async function waitUntilMounted(
  cloud: CallContext,
  placed: Pod,
  mounting: Mounting,
): Promise<Held['outcome']> {
  const { clock, config } = cloud;
  const end = clock.now() + config.deadlines.attachDisk * 1000;
  let known: Pod | undefined = placed;
  let said = '';
  for (;;) {
    const deadlineMs = Math.max(0, end - clock.now());
    await waitUntilContainerRuns(cloud, placed, mounting, { deadlineMs, known });
    known = undefined;
    const outcome = await mounting.ask(cloud, placed, mounting.mark);
    if (outcome.kind === 'bound' || outcome.kind === 'released') return outcome.kind;
    if (outcome.kind === 'cannot') throw notAttachableError(mounting.diskCid, outcome.reason);
    if (clock.now() + pauseMs >= end) throw mountTimeoutError(cloud, mounting.diskCid, outcome.words);
    if (outcome.words !== said)
      cloud.reportProgress(
        `waiting for the attachment of disk '${mounting.diskCid}' to answer: ${outcome.words}`,
      );
    said = outcome.words;
    await clock.sleep(pauseMs, mounting.signal);
    mounting.signal.throwIfAborted();
  }
}

async function waitUntilContainerRuns(
  cloud: CallContext,
  { metadata: { name = '', uid } }: Pod,
  { diskCid, gone, signal }: Mounting,
  { deadlineMs, known }: { readonly deadlineMs: number; readonly known: Pod | undefined },
): Promise<void> {
  await waitFor<Pod, true>({
    signal,
    api: cloud.api,
    clock: cloud.clock,
    reference: attachmentReference(cloud, name),
    known,
    condition: (pod) => {
      if (pod === undefined || pod.metadata.uid !== uid || pod.metadata.deletionTimestamp !== undefined)
        throw gone();
      // said once; the kubelet would start it again for ever
      const problem = mountFailure(pod) ?? startProblem(pod);
      if (problem !== undefined) throw notAttachableError(diskCid, problem);
      return isRunning(pod) ? true : undefined;
    },
    awaited: `disk '${diskCid}' to be mounted`,
    deadlineMs,
    lastWords: async (last) => ({
      state: await describePodAndEvents(cloud.api, { namespace: diskNamespaceOf(cloud), name }, last),
      next: inspectPodHint,
    }),
    onProgress: cloud.reportProgress,
  });
}

function mountTimeoutError(cloud: CallContext, diskCid: string, words: string): ProductError {
  const seconds = cloud.config.deadlines.attachDisk;
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
