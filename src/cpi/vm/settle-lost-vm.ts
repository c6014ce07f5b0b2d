import { isApiError } from '../../kubernetes/api-error.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import { requestedAddresses } from '../address/asked-addresses.ts';
import type { CallContext } from '../cloud.ts';
import { diskCidOf, listAttachments } from '../disk/attach/attachments.ts';
import { lostNodeError } from '../node/lost-node-error.ts';
import type { LostNode } from '../node/node-state.ts';
import { podReference } from './find-vm.ts';
import { recordedDiskCids } from './pod-record.ts';

/**
 * Force-deletes the pod of a terminating VM on a lost node if the VM has neither disks nor a fixed address:
 * it can do no harm if it still runs. Otherwise rejects with NODE_LOST, because it may still write to a disk
 * that the next VM gets, or answer at its address; the message contains the steps for an operator. Never
 * force-deletes attachment pods.
 */
export async function forceDeleteOnLostNode(
  cloud: CallContext,
  cid: string,
  pod: Pod | undefined,
  lost: LostNode,
): Promise<void> {
  const disks = [
    ...new Set([
      ...(await listAttachments(cloud, cid)).map(diskCidOf),
      ...(pod === undefined ? [] : recordedDiskCids(pod)),
    ]),
  ];
  const address = pod === undefined ? undefined : requestedAddresses(pod);
  const stakes = [
    ...(disks.length === 0 ? [] : [`its disks ${disks.map((disk) => `'${disk}'`).join(', ')}`]),
    ...(address === undefined ? [] : [`its address ${address}`]),
  ];
  if (stakes.length > 0)
    throw lostNodeError(`VM '${cid}' was not removed by force`, lost, { stakes, isDeleting: true });
  if (pod !== undefined) await removeByForce(cloud, pod);
}

async function removeByForce(cloud: CallContext, { metadata: { name = '', uid = '' } }: Pod): Promise<void> {
  try {
    await cloud.api.delete(podReference(cloud, name), { gracePeriodSeconds: 0, preconditions: { uid } });
  } catch (error) {
    if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
  }
}
