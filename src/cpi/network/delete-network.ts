import { ignoreNotFound } from '../../kubernetes/api.ts';
import { ProductError } from '../../errors/product-error.ts';
import { networkAttachmentDefinitions, networkPolicies, pods } from '../../kubernetes/resources.ts';
import type { CallContext } from '../call.ts';
import type { DeleteNetworkRequest } from '../protocol/methods.ts';
import { isManaged } from '../objects/labels.ts';
import { requestDeletion, waitForDeletion } from '../objects/objects.ts';
import { deletionSeconds } from './create-network.ts';
import { isNetworkCid, membershipLabel, policyPrefix } from '../objects/names.ts';

/**
 * delete_network(network_cid): returns when the network is deleted; a missing network is success. Rejects
 * with NETWORK_IN_USE while a VM is in it, because two requests for the same network share one, or with
 * DEADLINE.
 */
export async function deleteNetwork(
  call: CallContext,
  { networkCid: cid }: DeleteNetworkRequest,
): Promise<null> {
  if (!isNetworkCid(cid)) return null;
  const resource = cid.startsWith(policyPrefix) ? networkPolicies : networkAttachmentDefinitions;
  const reference = { resource, namespace: call.namespace, name: cid };
  const network = await ignoreNotFound(call.api.get(reference));
  if (network === undefined || !isManaged(network, 'network')) return null;
  const { namespace } = call;
  const { items } = await call.api.list(pods, { namespace, labelSelector: membershipLabel(cid) });
  if (items.length > 0) {
    const names = items.map(({ metadata }) => `'${metadata.name}'`).join(', ');
    const isOne = items.length === 1;
    const vms = isOne ? `VM ${names} is` : `VMs ${names} are`;
    throw new ProductError(
      'NETWORK_IN_USE',
      `network '${cid}' was not deleted: ${vms} in it; delete ${isOne ? 'it' : 'them'} first`,
    );
  }
  const { uid } = network.metadata;
  await requestDeletion(call, reference, uid);
  const what = `network '${cid}'`;
  await waitForDeletion(call, { reference, uid, deadlineSeconds: deletionSeconds, what });
  return null;
}
