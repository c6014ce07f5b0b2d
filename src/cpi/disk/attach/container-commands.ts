import { isProductError, ProductError } from '../../../errors/product-error.ts';
import { isApiError } from '../../../kubernetes/client/api-error.ts';
import { type Pod, isTerminal } from '../../../kubernetes/types/pod.ts';
import type { CallContext, ExecResult } from '../../call.ts';
import { vmContainer } from '../../objects/layout.ts';
import { readNodeState, lostNodeError } from '../../objects/node-state.ts';
import { findVm, isVmRunning } from '../../vm/vms.ts';
import type { AttachmentPod } from './attachment-pod.ts';
import { attachedAgainError } from './attachment-record.ts';
import { bindExit, bindScript } from './scripts/hold.ts';
import { inUseExit, inUseScript } from './scripts/in-use.ts';
import { mountFailedExit, releaseExit, releaseScript } from './scripts/volume-functions.ts';

const execTimeoutMs = 40_000;

export type BindOutcome =
  | { readonly kind: 'bound' }
  /** A detach_disk has released the disk. This attachment pod does not mount it any more. */
  | { readonly kind: 'released' }
  /** The script reports the reason. */
  | { readonly kind: 'cannot'; readonly reason: string }
  /** The container is starting, or the kubelet of its node is. */
  | { readonly kind: 'no answer'; readonly reason: string };

/**
 * Runs the bind script in an attachment pod. A mount container mounts the disk only after an attach_disk has
 * marked the claim and has run this script. `mark` is the mark on the claim. Idempotent.
 */
export async function runBindScript(attachmentPod: AttachmentPod, mark: string): Promise<BindOutcome> {
  const script = { name: 'bind', text: bindScript };
  try {
    const { exitCode, stderr } = await attachmentPod.exec(script, execTimeoutMs, mark);
    if (exitCode === 0) return { kind: 'bound' };
    if (exitCode === bindExit.released) return { kind: 'released' };
    const reason = stderr.trim();
    return exitCode === mountFailedExit
      ? { kind: 'cannot', reason }
      : { kind: 'no answer', reason: `its mount container ended with exit code ${exitCode}: ${reason}` };
  } catch (error) {
    if (isApiError(error, 403) || !(isApiError(error) || isProductError(error))) throw error;
    return { kind: 'no answer', reason: error.message };
  }
}

const pauseMs = 500;
const graceSeconds = 40;

/**
 * `deleted`: the attachment pod is deleted, and the release is not confirmed. An attachment pod: the version
 * of it for which it is certain that the disk is not mounted.
 */
export type Release = 'released' | 'deleted' | AttachmentPod;

/**
 * Has the mount container of an attachment pod unmount the disk in the VM, if it runs and nothing uses the
 * disk. Returns `released` if the disk is unmounted, or its node is out of service; `deleted` if the
 * attachment pod is deleted; the attachment pod if a killed attach_disk never mounted the disk: only this
 * version of it may be deleted. Rejects with DISK_BUSY, the disk still attached, also if an attach_disk that
 * the caller does not know of has had it mounted (`mark`: that of the last one it knows of), and with
 * NODE_LOST. Model: hot.pml
 */
export async function unmountFromVm(
  call: CallContext,
  attachmentPod: AttachmentPod,
  mark: number,
): Promise<Release> {
  const seconds = call.config.deadlines.release;
  const end = call.clock.now() + seconds * 1000;
  for (;;) {
    const outcome = await runReleaseScript(attachmentPod, seconds, mark);
    if (outcome === 'deleted') return 'deleted';
    if (!(outcome instanceof Error)) {
      if (outcome.exitCode === releaseExit.released) return 'released';
      if (outcome.exitCode === releaseExit.busy)
        throw diskBusyError(attachmentPod, inUseProblem(outcome.stdout, seconds), stopAndDetach);
      if (outcome.exitCode === releaseExit.attachedAgain) throw attachedAgainError(attachmentPod);
      // the script did not run: another attachment pod may have the name now
      if ((await attachmentPod.reread()) === undefined) return 'deleted';
    }
    if (call.clock.now() >= end) {
      if (await isOutOfService(call, attachmentPod)) return 'released';
      const current = await attachmentPod.reread();
      if (current === undefined) return 'deleted';
      if (!(await mayStillBeMounted(call, current))) return current;
      throw diskBusyError(attachmentPod, unreachableProblem(outcome, seconds));
    }
    await call.clock.sleep(pauseMs);
  }
}

/** Returns the error if the container cannot be reached now; it may be restarting. */
async function runReleaseScript(
  attachmentPod: AttachmentPod,
  seconds: number,
  mark: number,
): Promise<ExecResult | Error | 'deleted'> {
  // a single search through the node's processes may take long
  const deadlineMs = (seconds + graceSeconds) * 1000;
  const script = { name: 'release', text: releaseScript };
  try {
    return await attachmentPod.exec(script, deadlineMs, String(seconds), String(mark));
  } catch (error) {
    if (!isApiError(error) && !isProductError(error)) throw error;
    return (await attachmentPod.reread()) === undefined ? 'deleted' : error;
  }
}

/**
 * Returns false for an attachment pod that never reached the VM's hub: it got no image, no node or no volume.
 */
async function mayStillBeMounted(call: CallContext, attachmentPod: AttachmentPod): Promise<boolean> {
  // a pod that ended during the call proves nothing: the next detach checks the VM
  if (attachmentPod.isTerminal) return true;
  if (!attachmentPod.adoptsMount || attachmentPod.hasStarted) return attachmentPod.mayBeMounted;
  // an attachment pod that was created for an existing mount may never have run: only the VM shows whether
  // the mount still exists
  const vm = await attachmentPod.findVm();
  return vm !== undefined && isMountedOrRestarting(call, vm, attachmentPod.diskCid);
}

const stopAndDetach = 'stop what uses it and detach it again';

const inUseProblem = (users: string, seconds: number): string => {
  const processes = users
    .trim()
    .split('\n')
    .filter((line) => line !== '.');
  return `it was in use for ${seconds} s (${processes.join('; ')})`;
};

const unreachableProblem = (outcome: ExecResult | Error, seconds: number): string => {
  const reason =
    outcome instanceof Error ? outcome.message : `exit code ${outcome.exitCode}: ${outcome.stderr.trim()}`;
  return `its attachment pod could not be reached for ${seconds} s to release it (${reason})`;
};

const diskBusyError = (
  { diskCid, vmCid }: Pick<AttachmentPod, 'diskCid' | 'vmCid'>,
  problem: string,
  next = 'detach it again',
): ProductError =>
  new ProductError('DISK_BUSY', `disk '${diskCid}' is still attached to VM '${vmCid}': ${problem}; ${next}`);

/**
 * Returns true if the node was deleted or tainted out-of-service: by this an operator declares that nothing
 * writes there any more. Rejects with NODE_LOST if the node is lost without that.
 */
async function isOutOfService(
  call: CallContext,
  { nodeName, diskCid, vmCid }: Pick<AttachmentPod, 'nodeName' | 'diskCid' | 'vmCid'>,
  state = 'is still attached to',
): Promise<boolean> {
  const node = nodeName === undefined ? undefined : await readNodeState(call, nodeName);
  if (node?.kind === 'lost') {
    const disk = `disk '${diskCid}'`;
    throw lostNodeError(`${disk} ${state} VM '${vmCid}'`, node, { stakes: [disk], isDeleting: false });
  }
  return node?.kind === 'out of service';
}

/**
 * Rejects with DISK_BUSY while a process in the VM uses one of its own volumes, or while the VM cannot be
 * checked. A container that does not run uses nothing.
 */
export async function assertNotInUse(call: CallContext, pod: Pod, diskCid: string): Promise<void> {
  const { name, uid } = pod.metadata;
  const seconds = call.config.deadlines.release;
  const end = call.clock.now() + seconds * 1000;
  for (;;) {
    const use = await checkUse(call, name, diskCid, seconds);
    if (use.kind === 'free') return;
    if (use.kind === 'in use')
      throw diskBusyError(
        { diskCid, vmCid: name },
        `it was in use for ${seconds} s (${use.processes})`,
        stopAndDetach,
      );
    const now = await findVm(call, name);
    if (now === undefined || now.metadata.uid !== uid || !isVmRunning(now)) return;
    if (call.clock.now() >= end)
      throw diskBusyError(
        { diskCid, vmCid: name },
        `the VM could not be checked for ${seconds} s for processes that use it (${use.reason})`,
      );
    await call.clock.sleep(pauseMs);
  }
}

type DiskUse =
  | { readonly kind: 'free' }
  | { readonly kind: 'in use'; readonly processes: string }
  /** The VM could not be checked. */
  | { readonly kind: 'unknown'; readonly reason: string };

async function checkUse(call: CallContext, pod: string, diskCid: string, seconds: number): Promise<DiskUse> {
  try {
    const { exitCode, stdout, stderr } = await call.exec({
      pod,
      container: vmContainer,
      command: ['/bin/sh', '-c', inUseScript, 'in-use', diskCid, String(seconds)],
      deadlineMs: (seconds + graceSeconds) * 1000,
    });
    if (exitCode === inUseExit.free) return { kind: 'free' };
    if (exitCode === inUseExit.busy)
      return { kind: 'in use', processes: stdout.trim().replaceAll('\n', '; ') };
    return { kind: 'unknown', reason: `exit code ${exitCode}: ${stderr.trim()}` };
  } catch (error) {
    if (!isApiError(error) && !isProductError(error)) throw error;
    return { kind: 'unknown', reason: error.message };
  }
}

const checkTimeoutSeconds = 20;
/**
 * A directory without a mount means that a release did not run to its end (volume-functions.ts): a job may
 * use the volume without a mount there.
 */
const isMountedScript =
  '[ -d "/warden-cpi-dev/disks/$1" ] || grep -qF " /warden-cpi-dev/disks/$1 " /proc/self/mountinfo';

/**
 * `restarting`: the VM's container waits for its restart. It cannot be checked, and will start with the disks
 * that are mounted then.
 */
type MountState = 'mounted' | 'not mounted' | 'restarting';

/**
 * Returns whether a disk is mounted in an existing VM, as the VM itself sees it. False if the container does
 * not run or its node is out of service: nothing uses the disk then. Rejects with DISK_BUSY or NODE_LOST if
 * the VM cannot be checked: one of its jobs may use the disk. Model: hot.pml
 */
export async function isMountedInVm(call: CallContext, vm: Pod, diskCid: string): Promise<boolean> {
  return (await findMountState(call, vm, diskCid)) === 'mounted';
}

/**
 * Returns whether a disk that was not released is mounted in an existing VM. Also true while the VM's
 * container waits for a restart: it cannot be checked then, and it will start with the disk mounted.
 * Model: hot.pml
 */
export async function isMountedOrRestarting(call: CallContext, vm: Pod, diskCid: string): Promise<boolean> {
  return (await findMountState(call, vm, diskCid)) !== 'not mounted';
}

/** A single check decides about both: between two checks the container could start. */
async function findMountState(call: CallContext, vm: Pod, diskCid: string): Promise<MountState> {
  const { name, uid } = vm.metadata;
  const seconds = call.config.deadlines.release;
  const end = call.clock.now() + seconds * 1000;
  for (;;) {
    const answer = await checkMount(call, name, diskCid);
    if (typeof answer === 'boolean') return answer ? 'mounted' : 'not mounted';
    const now = await findVm(call, name);
    if (now === undefined || now.metadata.uid !== uid) return 'not mounted';
    if (!isVmRunning(now))
      return now.metadata.deletionTimestamp === undefined && !isTerminal(now) ? 'restarting' : 'not mounted';
    if (call.clock.now() >= end) {
      const { nodeName } = now.spec;
      if (await isOutOfService(call, { nodeName, diskCid, vmCid: name }, 'may still be mounted in'))
        return 'not mounted';
      throw new ProductError(
        'DISK_BUSY',
        `disk '${diskCid}' has no attachment to VM '${name}', and the VM could not be checked for ${seconds} s for a mount of it (${answer}); detach it again`,
      );
    }
    await call.clock.sleep(pauseMs);
  }
}

/** Returns whether the VM has the disk mounted, or why it could not be checked. */
async function checkMount(call: CallContext, vmCid: string, diskCid: string): Promise<boolean | string> {
  try {
    const { exitCode, stderr } = await call.exec({
      pod: vmCid,
      container: vmContainer,
      command: ['/bin/sh', '-c', isMountedScript, 'is-mounted', diskCid],
      deadlineMs: checkTimeoutSeconds * 1000,
    });
    return exitCode === 0 || exitCode === 1 ? exitCode === 0 : `exit code ${exitCode}: ${stderr.trim()}`;
  } catch (error) {
    // if the role may not exec, a retry does not help
    if (isApiError(error, 403) || !(isApiError(error) || isProductError(error))) throw error;
    return error.message;
  }
}
