import type { Pod } from '../../../kubernetes/pod.ts';
import type { CallContext } from '../../cloud.ts';
import { vmContainerStatus } from '../../own-containers.ts';
import { findVm } from '../../vm/find-vm.ts';
import {
  createAttachmentPod,
  findAttachment,
  attachmentPlanBase,
  deleteAttachmentPod,
  waitForAttachmentDeletion,
} from './attachments.ts';
import { sweeperPod } from './sweeper-pod.ts';

/** A kubelet takes about a second to remove a pod that nothing keeps. */
const startGraceMs = 5000;

/**
 * Unblocks the deletion of a VM's pod that hangs on leftover mounts in its hub. An attachment pod that was
 * deleted while its container could not run, or was force-deleted, leaves its mount in the hub, and a kubelet
 * never unmounts the hub under a mount. If the pod stays although its containers have ended, creates a
 * sweeper, and deletes it when `gone` has settled. Sends no request if `gone` resolves in time.
 * Model: hot.pml
 */
export async function cleanUpHub(cloud: CallContext, vm: Pod, gone: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  const stable = gone.then(
    () => over.abort(),
    () => over.abort(),
  );
  let isMade = false;
  while (!isMade) {
    await cloud.clock.sleep(startGraceMs, over.signal);
    if (over.signal.aborted) return;
    const now = await findVm(cloud, vm.metadata.name);
    if (now === undefined || now.metadata.uid !== vm.metadata.uid) return;
    if (!isTerminal(now)) continue;
    // an existing sweeper was made by another call, and does the same
    await createAttachmentPod(cloud, sweeperPod(attachmentPlanBase(cloud, now)));
    isMade = true;
  }
  await stable;
  const sweeper = await findAttachment(cloud, vm.metadata.name ?? '');
  if (sweeper === undefined) return;
  await deleteAttachmentPod(cloud, sweeper);
  await waitForAttachmentDeletion(cloud, sweeper, cloud.config.deadlines.deleteVm);
}

/**
 * Returns true if the VM's container, the only one that has the hub mounted, has ended and will not run
 * again.
 */
function isTerminal({ metadata, spec, status }: Pod): boolean {
  return (
    metadata.deletionTimestamp !== undefined &&
    spec.nodeName !== undefined &&
    vmContainerStatus(status?.containerStatuses)?.state?.terminated !== undefined
  );
}
