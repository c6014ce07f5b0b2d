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
 * Finishes a detach that an earlier call began: it reached its deadline, or was killed, while the storage
 * driver still had the volume attached to the VM's node, or after it had recorded the detach on the claim.
 * Returns whether there was one. DISK_NOT_ATTACHED if the driver has the volume attached for a pod that no
 * detach ends. Model: hot.pml
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

/** Returns a pod on that node that uses the claim and is not terminating. */
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
