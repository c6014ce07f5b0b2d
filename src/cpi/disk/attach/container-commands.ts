import { isProductError, ProductError } from '../../../errors/product-error.ts';
import { isApiError } from '../../../kubernetes/client/api-error.ts';
import type { Pod } from '../../../kubernetes/types/pod.ts';
import type { CallContext, ExecResult } from '../../call.ts';
import { annotation } from '../../objects/labels.ts';
import { mountContainer, vmContainer } from '../../objects/layout.ts';
import { diskCidOf, findAttachment, vmCidOf } from './attachments.ts';
import { bindExit, bindScript } from './scripts/hold.ts';
import { untilReadyIn } from './until-ready-script.ts';
import { mountFailedExit, releaseExit, releaseScript } from './scripts/volume-functions.ts';
import { readNodeState, lostNodeError } from '../../objects/node-state.ts';
import { findVm, isVmRunning } from '../../vm/vms.ts';
import { mayBeMounted, hasStarted, isTerminal, takesOver } from './attachment-pod.ts';
import { attachedAgain } from './mark-detached.ts';
import { inUseExit, inUseScript } from './scripts/in-use.ts';

const execTimeoutMs = 40_000;

export type BindOutcome =
  | { readonly kind: 'bound' }
  /** A detach_disk has released the disk. This attachment pod does not mount it any more. */
  | { readonly kind: 'released' }
  /** The script reports the reason. */
  | { readonly kind: 'cannot'; readonly reason: string }
  /** The container is starting, or the kubelet of its node is. */
  | { readonly kind: 'no answer'; readonly words: string };

/**
 * Runs the bind script in an attachment pod. A mount container mounts the disk only after an attach_disk has
 * marked the claim and has run this script. `mark` is the mark on the claim. Idempotent.
 */
export async function runBindScript(call: CallContext, attachment: Pod, mark: string): Promise<BindOutcome> {
  const { name = '', uid = '', annotations = {} } = attachment.metadata;
  const vmUid = annotations[annotation.vmUid] ?? '';
  try {
    const { exitCode, stderr } = await call.exec({
      namespace: call.diskNamespace,
      pod: name,
      container: mountContainer,
      command: [
        '/bin/sh',
        '-c',
        untilReadyIn(attachment) + bindScript,
        ...['bind', diskCidOf(attachment), vmUid, uid, mark],
      ],
      deadlineMs: execTimeoutMs,
    });
    if (exitCode === 0) return { kind: 'bound' };
    if (exitCode === bindExit.released) return { kind: 'released' };
    const words = stderr.trim();
    return exitCode === mountFailedExit
      ? { kind: 'cannot', reason: words }
      : { kind: 'no answer', words: `its holder ended with exit code ${exitCode}: ${words}` };
  } catch (error) {
    if (isApiError(error, 403) || !(isApiError(error) || isProductError(error))) throw error;
    return { kind: 'no answer', words: error.message };
  }
}

const pauseMs = 500;
const graceSeconds = 40;

/**
 * `gone`: the attachment pod is deleted, and the release is not confirmed. A pod: the version of the
 * attachment pod for which it is certain that the disk is not mounted.
 */
export type Release = 'released' | 'gone' | Pod;

/**
 * Has the mount container of an attachment pod unmount the disk in the VM, if it runs and nothing uses the
 * disk. Returns `released` if the disk is unmounted, or its node is out of service; `gone` if the attachment
 * pod is deleted; the attachment pod if a killed attach_disk never mounted the disk: only this version of it
 * may be deleted. Rejects with DISK_BUSY, the disk still attached, also if an attach_disk that the caller
 * does not know of has had it mounted (`mark`: that of the last one it knows of), and with NODE_LOST.
 * Model: hot.pml
 */
export async function unmountFromVm(call: CallContext, attachment: Pod, mark: number): Promise<Release> {
  const diskCid = diskCidOf(attachment);
  const seconds = call.config.deadlines.release;
  const end = call.clock.now() + seconds * 1000;
  for (;;) {
    const outcome = await runReleaseScript(call, attachment, { seconds, mark });
    if (outcome === 'gone') return 'gone';
    if (!(outcome instanceof Error)) {
      if (outcome.exitCode === releaseExit.released) return 'released';
      if (outcome.exitCode === releaseExit.busy) throw diskBusyError(attachment, outcome.stdout, seconds);
      if (outcome.exitCode === releaseExit.attachedAgain) throw attachedAgain(attachment);
      // the script did not run: another attachment pod may have the name now
      if ((await presentOf(call, attachment)) === undefined) return 'gone';
    }
    if (call.clock.now() >= end) {
      if (await isGivenUp(call, attachment)) return 'released';
      const now = await presentOf(call, attachment);
      if (now === undefined) return 'gone';
      if (!(await mayBeBound(call, now))) return now;
      const words =
        outcome instanceof Error
          ? outcome.message
          : `exit code ${outcome.exitCode}: ${outcome.stderr.trim()}`;
      throw new ProductError(
        'DISK_BUSY',
        `disk '${diskCid}' is still attached to VM '${vmCidOf(attachment)}': its attachment could not be asked for ${seconds} s to release it (${words}); detach it again`,
      );
    }
    await call.clock.sleep(pauseMs);
  }
}

/**
 * Returns true if the node was deleted or tainted out-of-service: by this an operator declares that nothing
 * writes there any more. Rejects with NODE_LOST if the node is lost without that.
 */
async function isGivenUp(call: CallContext, attachment: Pod): Promise<boolean> {
  const { nodeName } = attachment.spec;
  const state = nodeName === undefined ? undefined : await readNodeState(call, nodeName);
  if (state?.kind === 'lost') {
    const disk = `disk '${diskCidOf(attachment)}'`;
    throw lostNodeError(`${disk} is still attached to VM '${vmCidOf(attachment)}'`, state, {
      stakes: [disk],
      isDeleting: false,
    });
  }
  return state?.kind === 'out of service';
}

/** Returns the current version of the attachment pod; undefined if it is deleted. */
async function presentOf(call: CallContext, attachment: Pod): Promise<Pod | undefined> {
  const now = await findAttachment(call, diskCidOf(attachment));
  return now?.metadata.uid === attachment.metadata.uid ? now : undefined;
}

/**
 * Returns false for an attachment pod that never reached the VM's hub: it got no image, no node or no volume.
 */
async function mayBeBound(call: CallContext, now: Pod): Promise<boolean> {
  // a pod that ended during the call proves nothing: the next detach checks the VM
  if (isTerminal(now)) return true;
  return takesOver(now) && !hasStarted(now) ? isLeftoverInVm(call, now) : mayBeMounted(now);
}

/**
 * Checks the VM itself: only the VM knows whether an attachment pod that adopts a mount, and never ran, has
 * one to adopt.
 */
async function isLeftoverInVm(call: CallContext, attachment: Pod): Promise<boolean> {
  const vm = await findVm(call, vmCidOf(attachment));
  if (vm === undefined || vm.metadata.uid !== attachment.metadata.annotations?.[annotation.vmUid])
    return false;
  return isMountedOrRestarting(call, vm, diskCidOf(attachment));
}

/** Returns the error if the container cannot be reached now; it may be restarting. */
async function runReleaseScript(
  call: CallContext,
  attachment: Pod,
  { seconds, mark }: { seconds: number; mark: number },
): Promise<ExecResult | Error | 'gone'> {
  const { name = '', uid = '', annotations = {} } = attachment.metadata;
  try {
    return await call.exec({
      namespace: call.diskNamespace,
      pod: name,
      container: mountContainer,
      command: [
        '/bin/sh',
        '-c',
        untilReadyIn(attachment) + releaseScript,
        'release',
        ...[diskCidOf(attachment), annotations[annotation.vmUid] ?? '', uid, String(seconds), String(mark)],
      ],
      // a single search through the node's processes may take long
      deadlineMs: (seconds + graceSeconds) * 1000,
    });
  } catch (error) {
    if (!isApiError(error) && !isProductError(error)) throw error;
    return (await presentOf(call, attachment)) === undefined ? 'gone' : error;
  }
}

function diskBusyError(attachment: Pod, users: string, seconds: number): ProductError {
  const who = users
    .trim()
    .split('\n')
    .filter((line) => line !== '.')
    .join('; ');
  return new ProductError(
    'DISK_BUSY',
    `disk '${diskCidOf(attachment)}' is still attached to VM '${vmCidOf(attachment)}': it was in use for ${seconds} s (${who}); stop what uses it and detach it again`,
  );
}

/**
 * Rejects with DISK_BUSY while a process in the VM uses one of its own volumes, or while the VM cannot be
 * checked. A container that does not run uses nothing.
 */
export async function assertNotInUse(call: CallContext, pod: Pod, diskCid: string): Promise<void> {
  const { name = '', uid } = pod.metadata;
  const seconds = call.config.deadlines.release;
  const end = call.clock.now() + seconds * 1000;
  for (;;) {
    const words = await findUsers(call, name, diskCid, seconds);
    if (words === undefined) return;
    if (words.startsWith('in use:'))
      throw vmUsesDiskError(name, diskCid, `${words} for ${seconds} s; stop what uses it`);
    const now = await findVm(call, name);
    if (now === undefined || now.metadata.uid !== uid || !isVmRunning(now)) return;
    if (call.clock.now() >= end)
      throw vmUsesDiskError(
        name,
        diskCid,
        `the VM could not be asked for ${seconds} s who uses it (${words})`,
      );
    await call.clock.sleep(pauseMs);
  }
}

/**
 * Undefined: no process uses the disk. `in use: ...`: these processes use it. Any other text is the reason
 * why the VM could not be checked.
 */
async function findUsers(
  call: CallContext,
  pod: string,
  diskCid: string,
  seconds: number,
): Promise<string | undefined> {
  try {
    const { exitCode, stdout, stderr } = await call.exec({
      pod,
      container: vmContainer,
      command: ['/bin/sh', '-c', inUseScript, 'in-use', diskCid, String(seconds)],
      deadlineMs: (seconds + graceSeconds) * 1000,
    });
    if (exitCode === inUseExit.free) return undefined;
    if (exitCode === inUseExit.busy) return `in use: ${stdout.trim().replaceAll('\n', '; ')}`;
    return `exit code ${exitCode}: ${stderr.trim()}`;
  } catch (error) {
    if (!isApiError(error) && !isProductError(error)) throw error;
    return error.message;
  }
}

function vmUsesDiskError(vmCid: string, diskCid: string, why: string): ProductError {
  return new ProductError(
    'DISK_BUSY',
    `disk '${diskCid}' is still attached to VM '${vmCid}': ${why}; then detach it again`,
  );
}

const checkTimeoutSeconds = 20;
/**
 * A directory without a mount means that a release did not run to its end (volume-functions.ts): a job may
 * use the volume without a mount there.
 */
const isMountedScript =
  '[ -d "/warden-cpi-dev/disks/$1" ] || grep -qF " /warden-cpi-dev/disks/$1 " /proc/self/mountinfo';

/**
 * `comes back`: the VM's container waits for its restart. It cannot be checked, and will start with whatever
 * is mounted.
 */
type Look = 'mounted' | 'not mounted' | 'comes back';

/**
 * Returns whether a disk is mounted in an existing VM, as the VM itself sees it. False if the container does
 * not run or its node is out of service: nothing uses the disk then. Rejects with DISK_BUSY or NODE_LOST if
 * the VM cannot be checked: one of its jobs may use the disk. Model: hot.pml
 */
export async function isMountedInVm(call: CallContext, vm: Pod, diskCid: string): Promise<boolean> {
  return (await lookIntoVm(call, vm, diskCid)) === 'mounted';
}

/**
 * Returns whether a disk that was not released is mounted in an existing VM. Also true while the VM's
 * container waits for a restart: it cannot be checked then, and it will start with the disk mounted.
 * Model: hot.pml
 */
export async function isMountedOrRestarting(call: CallContext, vm: Pod, diskCid: string): Promise<boolean> {
  return (await lookIntoVm(call, vm, diskCid)) !== 'not mounted';
}

/** A single check answers both questions: between two checks the container could start. */
async function lookIntoVm(call: CallContext, vm: Pod, diskCid: string): Promise<Look> {
  const seconds = call.config.deadlines.release;
  const end = call.clock.now() + seconds * 1000;
  for (;;) {
    const answer = await checkMount(call, vm, diskCid);
    if (typeof answer === 'boolean') return answer ? 'mounted' : 'not mounted';
    const now = await findVm(call, vm.metadata.name ?? '');
    if (now === undefined || now.metadata.uid !== vm.metadata.uid) return 'not mounted';
    if (!isVmRunning(now))
      return now.metadata.deletionTimestamp === undefined && !isTerminal(now) ? 'comes back' : 'not mounted';
    if (call.clock.now() >= end) {
      if (await isOutOfService(call, now, diskCid)) return 'not mounted';
      throw cannotCheckError(now, diskCid, { seconds, words: answer });
    }
    await call.clock.sleep(pauseMs);
  }
}

/** Returns whether the VM has the disk mounted, or why it could not be checked. */
async function checkMount(
  call: CallContext,
  { metadata: { name = '' } }: Pod,
  diskCid: string,
): Promise<boolean | string> {
  try {
    const { exitCode, stderr } = await call.exec({
      pod: name,
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

async function isOutOfService(
  call: CallContext,
  { metadata: { name = '' }, spec: { nodeName } }: Pod,
  diskCid: string,
): Promise<boolean> {
  const state = nodeName === undefined ? undefined : await readNodeState(call, nodeName);
  if (state?.kind === 'lost') {
    const disk = `disk '${diskCid}'`;
    throw lostNodeError(`${disk} may still be mounted in VM '${name}'`, state, {
      stakes: [disk],
      isDeleting: false,
    });
  }
  return state?.kind === 'out of service';
}

const cannotCheckError = (
  { metadata: { name = '' } }: Pod,
  diskCid: string,
  { seconds, words }: { readonly seconds: number; readonly words: string },
): ProductError =>
  new ProductError(
    'DISK_BUSY',
    `disk '${diskCid}' has no attachment to VM '${name}', and the VM could not be asked for ${seconds} s whether it is mounted there all the same (${words}); detach it again`,
  );
