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

/** A kubelet takes about a second to take a pod down that nothing holds. */
const startGraceMs = 5000;

/**
 * Sees to it that a VM's pod, whose deletion was asked for and whose attachments are gone, can go. An attachment that was
 * deleted while its holder could not run, or by force, has left its mount in the hub, and a kubelet never unmounts the hub
 * under it. Where the pod stays though its containers have ended, a sweeper is made, and
 * ended again when `gone` has settled. Resolves without any request where `gone` comes in time. Model: hot.pml
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
    // one that is there already is another call's, and does the same
    await createAttachmentPod(cloud, sweeperPod(attachmentPlanBase(cloud, now)));
    isMade = true;
  }
  await stable;
  const sweeper = await findAttachment(cloud, vm.metadata.name ?? '');
  if (sweeper === undefined) return;
  await deleteAttachmentPod(cloud, sweeper);
  await waitForAttachmentDeletion(cloud, sweeper, cloud.config.deadlines.deleteVm);
}

/** True where the VM's container, which alone has the hub mounted, has ended and will not run again. */
function isTerminal({ metadata, spec, status }: Pod): boolean {
  return (
    metadata.deletionTimestamp !== undefined &&
    spec.nodeName !== undefined &&
    vmContainerStatus(status?.containerStatuses)?.state?.terminated !== undefined
  );
}
