import { isProductError, ProductError } from '../../../errors/product-error.ts';
import { isApiError } from '../../../kubernetes/api-error.ts';
import type { Pod } from '../../../kubernetes/pod.ts';
import type { CallContext } from '../../cloud.ts';
import { lookAtNode } from '../../node/look-at-node.ts';
import { lostNodeError } from '../../node/lost-node-error.ts';
import { findVm } from '../../vm/find-vm.ts';
import { isVmRunning } from '../../vm/live-vm.ts';
import { vmContainer } from '../../own-containers.ts';
import { isTerminal } from './has-bound.ts';

const checkTimeoutSeconds = 20;
const pauseMs = 500;
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
export async function isMountedInVm(cloud: CallContext, vm: Pod, diskCid: string): Promise<boolean> {
  return (await lookIntoVm(cloud, vm, diskCid)) === 'mounted';
}

/**
 * Returns whether a disk that was not released is mounted in an existing VM. Also true while the VM's
 * container waits for a restart: it cannot be checked then, and it will start with the disk mounted.
 * Model: hot.pml
 */
export async function isMountedOrRestarting(cloud: CallContext, vm: Pod, diskCid: string): Promise<boolean> {
  return (await lookIntoVm(cloud, vm, diskCid)) !== 'not mounted';
}

/** A single check answers both questions: between two checks the container could start. */
async function lookIntoVm(cloud: CallContext, vm: Pod, diskCid: string): Promise<Look> {
  const seconds = cloud.config.deadlines.release;
  const end = cloud.clock.now() + seconds * 1000;
  for (;;) {
    const answer = await checkMount(cloud, vm, diskCid);
    if (typeof answer === 'boolean') return answer ? 'mounted' : 'not mounted';
    const now = await findVm(cloud, vm.metadata.name ?? '');
    if (now === undefined || now.metadata.uid !== vm.metadata.uid) return 'not mounted';
    if (!isVmRunning(now))
      return now.metadata.deletionTimestamp === undefined && !isTerminal(now) ? 'comes back' : 'not mounted';
    if (cloud.clock.now() >= end) {
      if (await isOutOfService(cloud, now, diskCid)) return 'not mounted';
      throw cannotCheckError(now, diskCid, { seconds, words: answer });
    }
    await cloud.clock.sleep(pauseMs);
  }
}

/** Returns whether the VM has the disk mounted, or why it could not be checked. */
async function checkMount(
  cloud: CallContext,
  { metadata: { name = '' } }: Pod,
  diskCid: string,
): Promise<boolean | string> {
  try {
    const { exitCode, stderr } = await cloud.exec({
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
  cloud: CallContext,
  { metadata: { name = '' }, spec: { nodeName } }: Pod,
  diskCid: string,
): Promise<boolean> {
  const state = nodeName === undefined ? undefined : await lookAtNode(cloud, nodeName);
  if (state?.kind === 'lost') {
    const disk = `disk '${diskCid}'`;
    throw lostNodeError(`${disk} may still be mounted in VM '${name}'`, state, {
      stakes: [disk],
      isDeleting: false,
    });
  }
  return state?.kind === 'given up';
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
