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

/** `gone`: nothing has confirmed it. A pod: the attachment as it was when it could not have the disk in the VM. */
export type Release = 'released' | 'gone' | Pod;

/**
 * Has the holder of an attachment take the disk out of the VM, while it runs and nobody uses the disk.
 * Resolves with `released` when the disk is out, or its node was given up; with `gone` if the attachment is; with the attachment if, by a
 * killed attach, the disk was never in: it may be deleted on that version alone. Rejects with DISK_BUSY, the disk still attached, also
 * if an attach_disk that the caller does not know of has had it mounted (`mark`: of the last one it knows of), and with NODE_LOST.
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
      // the script did not run: the name may be another attachment's by now
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
 * True where the node was deleted or tainted out-of-service: nothing writes there any more, an operator said so.
 * NODE_LOST where it is lost and nobody has said that.
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

/** The attachment as it is now; undefined if it is gone. */
async function presentOf(cloud: CallContext, attachment: Pod): Promise<Pod | undefined> {
  const now = await findAttachment(cloud, diskCidOf(attachment));
  return now?.metadata.uid === attachment.metadata.uid ? now : undefined;
}

/** False for an attachment that never got as far as the VM's hub: its image, its node or its volume did not come. */
async function mayBeBound(cloud: CallContext, now: Pod): Promise<boolean> {
  // one that was ended meanwhile is no witness: the next detach asks the VM
  if (isTerminal(now)) return true;
  return takesOver(now) && !hasStarted(now) ? isLeftoverInVm(cloud, now) : mayBeMounted(now);
}

/** Of an attachment that never ran and has a mount to take over only the VM knows. */
async function isLeftoverInVm(cloud: CallContext, attachment: Pod): Promise<boolean> {
  const vm = await findVm(cloud, vmCidOf(attachment));
  if (vm === undefined || vm.metadata.uid !== attachment.metadata.annotations?.[annotation.vmUid])
    return false;
  const { isMountedOrRestarting } = await import('./is-mounted.ts');
  return isMountedOrRestarting(cloud, vm, diskCidOf(attachment));
}

/** The error where the container cannot be reached now; it may be starting again. */
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
      // one look through the node's processes may take its time
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
