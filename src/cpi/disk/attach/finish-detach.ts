import { ProductError } from '../../../errors/product-error.ts';
import type { Pod } from '../../../kubernetes/pod.ts';
import { pods } from '../../../kubernetes/resources.ts';
import type { CallContext } from '../../cloud.ts';
import { diskNamespaceOf } from '../../cloud.ts';
import { findClaim } from '../claim.ts';
import { lockOwner } from './disk-lock.ts';
import { wasDetachedFrom } from './last-vm.ts';
import { waitUntilOffNode } from './volume-attachments.ts';

/**
 * Ends what a former call began: it met its deadline, or was killed, while the storage driver still had the disk on the VM's
 * node, or after it had noted on the claim that it took the disk out. Resolves with whether there was such a thing.
 * DISK_NOT_ATTACHED where the driver has it for a pod that no detach ends. Model: hot.pml
 */
export async function finishDetach(cloud: CallContext, vm: Pod, diskCid: string): Promise<boolean> {
  const claim = await findClaim(cloud, diskCid);
  if (claim === undefined || (await lockOwner(cloud, claim)) !== undefined) return false;
  const { nodeName } = vm.spec;
  if (nodeName === undefined) return false;
  const user = await runningPodUsing(cloud, diskCid, nodeName);
  if (user === undefined)
    return (await waitUntilOffNode(cloud, claim, nodeName)) || wasDetachedFrom(claim, vm);
  throw new ProductError(
    'DISK_NOT_ATTACHED',
    `disk '${diskCid}' is not attached to VM '${vm.metadata.name ?? ''}', so there is nothing to detach; pod '${user}' on its node ` +
      `has the disk: stop that pod before the disk is attached elsewhere`,
  );
}

/** A pod on that node that has the claim and is not about to end. */
async function runningPodUsing(
  cloud: CallContext,
  claimName: string,
  nodeName: string,
): Promise<string | undefined> {
  const { items } = await cloud.api.list<Pod>(pods, {
    namespace: diskNamespaceOf(cloud),
    fieldSelector: `spec.nodeName=${nodeName}`,
  });
  const user = items.find(
    ({ metadata, spec, status }) =>
      metadata.deletionTimestamp === undefined &&
      status?.phase !== 'Succeeded' &&
      status?.phase !== 'Failed' &&
      (spec.volumes ?? []).some((volume) => volume.persistentVolumeClaim?.claimName === claimName),
  );
  return user?.metadata.name;
}
