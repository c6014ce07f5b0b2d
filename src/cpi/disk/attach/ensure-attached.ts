import type { Stored } from '../../../kubernetes/object.ts';
import { progressPrefixes } from '../../../errors/text.ts';
import { ProductError } from '../../../errors/product-error.ts';
import { isApiError } from '../../../kubernetes/client/api-error.ts';
import { waitForObject } from '../../objects/wait-for-object.ts';
import { describePodAndEvents } from '../../../kubernetes/describe-pod.ts';
import { pods } from '../../../kubernetes/resources.ts';
import type { Pod } from '../../../kubernetes/types/pod.ts';
import type { CallContext } from '../../call.ts';
import { waitForScheduling } from '../../objects/describe-pending.ts';
import { whileNodeAnswers } from '../../objects/node-state.ts';
import { vmNotFound } from '../../vm/vms.ts';
import { inspectPodHint, startProblem } from '../../vm/wait-until-running.ts';
import type { PersistentVolumeClaim } from '../disks.ts';
import { assertNotMountedElsewhere, assertVmDeleted, removeAttachmentPod } from './attached-elsewhere.ts';
import { buildAttachmentPod, hubPodPlan } from './attachment-pod-spec.ts';
import { AttachmentPod, attachmentReference } from './attachment-pod.ts';
import { type Recheck, recordAttachment } from './attachment-record.ts';
import { type BindOutcome, runBindScript } from './container-commands.ts';

/** The number of attempts if another call creates the attachment pod between the read and the create. */
export const maxAttempts = 5;
const pauseMs = 500;

export interface AttachOptions {
  /** The disk may still be mounted in the VM from an earlier attachment pod. */
  readonly adoptsMount: boolean;
  /**
   * Has the mount container mount the disk when it runs. False for a disk that is mounted: if another
   * detach_disk releases it now, it must not be mounted again.
   */
  readonly bind: boolean;
  readonly recheck: Recheck;
}

export interface AttachedDisk {
  readonly attachmentPod: AttachmentPod;
  /** The mark that was written to the claim (attachment-record.ts). */
  readonly mark: string;
  readonly outcome: 'bound' | 'released';
}

/**
 * Finds or creates the attachment pod of the disk and the VM, records it on the claim, and returns it after
 * its mount container has answered. Rolls back on failure. Model: hot.pml
 */
export async function ensureAttached(
  call: CallContext,
  vm: Stored<Pod>,
  claim: Stored<PersistentVolumeClaim>,
  options: AttachOptions,
): Promise<AttachedDisk> {
  const scheduled = await waitForScheduling(call, vm, () => vmNotFound(call, vm.metadata.name));
  const { attachmentPod, isNew } = await findOrCreatePod(call, scheduled, claim, options.adoptsMount);
  let mark: string | undefined;
  try {
    // the call that created the pod may have checked before another VM got the disk
    if (!isNew) await options.recheck(claim);
    mark = await recordAttachment(call, attachmentPod, claim, options.recheck);
    const attempt = new MountAttempt(call, attachmentPod, options.bind ? mark : undefined);
    return { attachmentPod, mark, outcome: await attempt.run(scheduled.spec.nodeName ?? '') };
  } catch (error) {
    const { rollBackAttach } = await import('./roll-back-attach.ts');
    throw await rollBackAttach(call, attachmentPod, { error, mark });
  }
}

/**
 * Returns the attachment pod of the disk and the VM. Before it creates one, it removes a stale one, and
 * checks that no other VM has the disk mounted. In place of a terminal one of the same VM it creates one that
 * adopts its mount. Rejects with DISK_ATTACHED_ELSEWHERE.
 */
async function findOrCreatePod(
  call: CallContext,
  vm: Stored<Pod>,
  claim: PersistentVolumeClaim,
  adoptsMount: boolean,
): Promise<{ readonly attachmentPod: AttachmentPod; readonly isNew: boolean }> {
  const diskCid = claim.metadata.name;
  let mayBeMounted = adoptsMount;
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    const existing = await AttachmentPod.find(call, diskCid);
    const isActive = existing !== undefined && !existing.isTerminating;
    const isOwn = isActive && existing.belongsTo(vm);
    if (isOwn && !existing.isTerminal) return { attachmentPod: existing, isNew: false };
    mayBeMounted ||= isOwn;
    const pod = buildAttachmentPod({ ...hubPodPlan(call, vm), diskCid, adoptsMount: mayBeMounted });
    if (isOwn) await assertAdmitted(call, pod);
    else if (isActive) await assertVmDeleted(existing);
    if (existing !== undefined) await removeAttachmentPod(call, existing);
    await assertNotMountedElsewhere(call, claim, vm);
    const attachmentPod = await AttachmentPod.create(call, pod);
    if (attachmentPod !== undefined) return { attachmentPod, isNew: true };
  }
  throw concurrentAttachError(diskCid);
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

/** Has the mount container of one attachment pod mount the disk in the VM. */
class MountAttempt {
  readonly #call: CallContext;
  readonly #attachmentPod: AttachmentPod;
  /** Undefined: only waits until the mount container runs. */
  readonly #mark: string | undefined;

  constructor(call: CallContext, attachmentPod: AttachmentPod, mark: string | undefined) {
    this.#call = call;
    this.#attachmentPod = attachmentPod;
    this.#mark = mark;
  }

  /** Rejects with DISK_NOT_ATTACHABLE if the node is lost or out of service, and with DEADLINE. */
  async run(nodeName: string): Promise<AttachedDisk['outcome']> {
    const { diskCid, pod } = this.#attachmentPod;
    const reject = (problem: string): Promise<never> => Promise.reject(notAttachableError(diskCid, problem));
    return whileNodeAnswers(this.#call, {
      nodeName,
      work: async (signal) => {
        const deletedError = (): ProductError => attachmentDeletedError(diskCid);
        const scheduled = await waitForScheduling(this.#call, pod, deletedError, signal);
        return this.#waitUntilMounted(scheduled, signal);
      },
      whenLost: (lost) =>
        reject(
          `node '${lost.name}' of the VM has not answered since ${lost.since} (${lost.message}); bring the node back or recreate the VM`,
        ),
      whenOutOfService: () =>
        reject(`node '${nodeName}' of the VM is deleted or out of service; recreate the VM`),
    });
  }

  /**
   * A mount container that does not answer is restarting, or its kubelet is, so the script is retried until
   * the deadline.
   */
  async #waitUntilMounted(scheduled: Stored<Pod>, signal: AbortSignal): Promise<AttachedDisk['outcome']> {
    const { clock, config, reportProgress } = this.#call;
    const { diskCid } = this.#attachmentPod;
    const end = clock.now() + config.deadlines.attachDisk * 1000;
    let known: Stored<Pod> | undefined = scheduled;
    let reportedReason = '';
    for (;;) {
      await this.#waitUntilContainerRuns(known, Math.max(0, end - clock.now()), signal);
      known = undefined;
      const outcome = await this.#bind();
      if (outcome.kind === 'bound' || outcome.kind === 'released') return outcome.kind;
      const { reason } = outcome;
      if (outcome.kind === 'cannot') throw notAttachableError(diskCid, reason);
      if (clock.now() + pauseMs >= end) throw this.#timeoutError(reason);
      if (reason !== reportedReason)
        reportProgress(`${progressPrefixes.waiting}the attachment of disk '${diskCid}' to answer: ${reason}`);
      reportedReason = reason;
      await clock.sleep(pauseMs, signal);
      signal.throwIfAborted();
    }
  }

  async #bind(): Promise<BindOutcome> {
    return this.#mark === undefined ? { kind: 'bound' } : runBindScript(this.#attachmentPod, this.#mark);
  }

  async #waitUntilContainerRuns(
    known: Stored<Pod> | undefined,
    deadlineMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    const call = this.#call;
    const { diskCid, name, uid } = this.#attachmentPod;
    await waitForObject<Pod, true>(call, {
      signal,
      reference: attachmentReference(call, name),
      known,
      condition: (pod) => {
        const current = pod === undefined ? undefined : new AttachmentPod(call, pod);
        if (current === undefined || current.uid !== uid || current.isTerminating)
          throw attachmentDeletedError(diskCid);
        // one failure is enough: the kubelet would restart it forever
        const problem = current.mountFailure ?? startProblem(current.pod);
        if (problem !== undefined) throw notAttachableError(diskCid, problem);
        return current.isRunning ? true : undefined;
      },
      awaited: `disk '${diskCid}' to be mounted`,
      deadlineMs,
      describeState: async (last) => ({
        state: await describePodAndEvents(call.api, { namespace: call.diskNamespace, name }, last),
        next: inspectPodHint,
      }),
    });
  }

  #timeoutError(reason: string): ProductError {
    const seconds = this.#call.config.deadlines.attachDisk;
    return new ProductError(
      'DEADLINE',
      `waited ${seconds} s for the attachment of disk '${this.#attachmentPod.diskCid}' to report that the disk is mounted; last: ${reason}; see the log of its pod (kubectl logs), then attach it again`,
    );
  }
}

export const attachmentDeletedError = (diskCid: string): ProductError =>
  new ProductError(
    'DISK_NOT_ATTACHABLE',
    `disk '${diskCid}' cannot be attached: its attachment pod was deleted during this call; attach it again`,
  );

/** Returns the error after other calls have created and deleted the attachment pod in every attempt. */
export const concurrentAttachError = (diskCid: string): ProductError =>
  new ProductError(
    'DISK_NOT_ATTACHABLE',
    `disk '${diskCid}' cannot be attached: other calls keep changing its attachment pod; run the call again`,
  );

const notAttachableError = (diskCid: string, problem: string): ProductError =>
  new ProductError(
    'DISK_NOT_ATTACHABLE',
    `disk '${diskCid}' cannot be attached: ${problem}; when that is fixed, attach it again`,
  );
