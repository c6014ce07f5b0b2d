import { isProductError, ProductError } from '../../../errors/product-error.ts';
import { isApiError } from '../../../kubernetes/api-error.ts';
import type { Pod } from '../../../kubernetes/pod.ts';
import type { CallContext, ExecResult } from '../../cloud.ts';
import { diskNamespaceOf } from '../../cloud.ts';
import { annotation } from '../../labels.ts';
import { lookAtNode } from '../../node/look-at-node.ts';
import { lostNodeError } from '../../node/lost-node-error.ts';
import { findVm } from '../../vm/find-vm.ts';
import { mountContainer } from '../../own-containers.ts';
import { diskCidOf, findAttachment, vmCidOf } from './attachments.ts';
import { mayBeMounted, hasStarted, isTerminal, takesOver } from './has-bound.ts';
import { attachedAgain } from './mark-detached.ts';
import { releaseExit, releaseScript } from './release-script.ts';
import { untilReadyIn } from './until-ready-script.ts';

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
export async function unmountFromVm(cloud: CallContext, attachment: Pod, mark: number): Promise<Release> {
  const diskCid = diskCidOf(attachment);
  const seconds = cloud.config.deadlines.release;
  const end = cloud.clock.now() + seconds * 1000;
  for (;;) {
    const outcome = await runReleaseScript(cloud, attachment, { seconds, mark });
    if (outcome === 'gone') return 'gone';
    if (!(outcome instanceof Error)) {
      if (outcome.exitCode === releaseExit.released) return 'released';
      if (outcome.exitCode === releaseExit.busy) throw diskBusyError(attachment, outcome.stdout, seconds);
      if (outcome.exitCode === releaseExit.attachedAgain) throw attachedAgain(attachment);
      // the script did not run: another attachment pod may have the name now
      if ((await presentOf(cloud, attachment)) === undefined) return 'gone';
    }
    if (cloud.clock.now() >= end) {
      if (await isGivenUp(cloud, attachment)) return 'released';
      const now = await presentOf(cloud, attachment);
      if (now === undefined) return 'gone';
      if (!(await mayBeBound(cloud, now))) return now;
      const words =
        outcome instanceof Error
          ? outcome.message
          : `exit code ${outcome.exitCode}: ${outcome.stderr.trim()}`;
      throw new ProductError(
        'DISK_BUSY',
        `disk '${diskCid}' is still attached to VM '${vmCidOf(attachment)}': its attachment could not be asked for ${seconds} s to release it (${words}); detach it again`,
      );
    }
    await cloud.clock.sleep(pauseMs);
  }
}

/**
 * Returns true if the node was deleted or tainted out-of-service: by this an operator declares that nothing
 * writes there any more. Rejects with NODE_LOST if the node is lost without that.
 */
async function isGivenUp(cloud: CallContext, attachment: Pod): Promise<boolean> {
  const { nodeName } = attachment.spec;
  const state = nodeName === undefined ? undefined : await lookAtNode(cloud, nodeName);
  if (state?.kind === 'lost') {
    const disk = `disk '${diskCidOf(attachment)}'`;
    throw lostNodeError(`${disk} is still attached to VM '${vmCidOf(attachment)}'`, state, {
      stakes: [disk],
      isDeleting: false,
    });
  }
  return state?.kind === 'given up';
}

/** Returns the current version of the attachment pod; undefined if it is deleted. */
async function presentOf(cloud: CallContext, attachment: Pod): Promise<Pod | undefined> {
  const now = await findAttachment(cloud, diskCidOf(attachment));
  return now?.metadata.uid === attachment.metadata.uid ? now : undefined;
}

/**
 * Returns false for an attachment pod that never reached the VM's hub: it got no image, no node or no volume.
 */
async function mayBeBound(cloud: CallContext, now: Pod): Promise<boolean> {
  // a pod that ended during the call proves nothing: the next detach checks the VM
  if (isTerminal(now)) return true;
  return takesOver(now) && !hasStarted(now) ? isLeftoverInVm(cloud, now) : mayBeMounted(now);
}

/**
 * Checks the VM itself: only the VM knows whether an attachment pod that adopts a mount, and never ran, has
 * one to adopt.
 */
async function isLeftoverInVm(cloud: CallContext, attachment: Pod): Promise<boolean> {
  const vm = await findVm(cloud, vmCidOf(attachment));
  if (vm === undefined || vm.metadata.uid !== attachment.metadata.annotations?.[annotation.vmUid])
    return false;
  const { isMountedOrRestarting } = await import('./is-mounted.ts');
  return isMountedOrRestarting(cloud, vm, diskCidOf(attachment));
}

/** Returns the error if the container cannot be reached now; it may be restarting. */
async function runReleaseScript(
  cloud: CallContext,
  attachment: Pod,
  { seconds, mark }: { seconds: number; mark: number },
): Promise<ExecResult | Error | 'gone'> {
  const { name = '', uid = '', annotations = {} } = attachment.metadata;
  try {
    return await cloud.exec({
      namespace: diskNamespaceOf(cloud),
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
    return (await presentOf(cloud, attachment)) === undefined ? 'gone' : error;
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
