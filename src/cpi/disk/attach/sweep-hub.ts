import type { Pod } from '../../../kubernetes/pod.ts';
import type { Cloud } from '../../cloud.ts';
import { vmContainerOf } from '../../own-containers.ts';
import { findVm } from '../../vm/find-vm.ts';
import { createHubPod, findAttachment, hubOf, requestEnd, waitUntilEnded } from './attachments.ts';
import { sweeperPod } from './sweeper-pod.ts';

/** A kubelet takes about a second to take a pod down that nothing holds. */
const patienceMs = 5000;

/**
 * Sees to it that a VM's pod, whose deletion was asked for and whose attachments are gone, can go. An attachment that was
 * deleted while its holder could not run, or by force, has left its mount in the hub, and a kubelet never unmounts the hub
 * under it. Where the pod stays though its containers have ended, a sweeper is made, and
 * ended again when `gone` has settled. Resolves without any request where `gone` comes in time. Model: hot.pml
 */
export async function sweepHub(cloud: Cloud, vm: Pod, gone: Promise<unknown>): Promise<void> {
  const over = new AbortController();
  const settled = gone.then(
    () => over.abort(),
    () => over.abort(),
  );
  let isMade = false;
  while (!isMade) {
    await cloud.clock.sleep(patienceMs, over.signal);
    if (over.signal.aborted) return;
    const now = await findVm(cloud, vm.metadata.name);
    if (now === undefined || now.metadata.uid !== vm.metadata.uid) return;
    if (!hasEnded(now)) continue;
    // one that is there already is another call's, and does the same
    await createHubPod(cloud, sweeperPod(hubOf(cloud, now)));
    isMade = true;
  }
  await settled;
  const sweeper = await findAttachment(cloud, vm.metadata.name ?? '');
  if (sweeper === undefined) return;
  await requestEnd(cloud, sweeper);
  await waitUntilEnded(cloud, sweeper, cloud.config.deadlines.deleteVm);
}

/** True where the VM's container, which alone has the hub mounted, has ended and will not run again. */
function hasEnded({ metadata, spec, status }: Pod): boolean {
  return (
    metadata.deletionTimestamp !== undefined &&
    spec.nodeName !== undefined &&
    vmContainerOf(status?.containerStatuses)?.state?.terminated !== undefined
  );
}
