import { ProductError } from '../../errors/product-error.ts';
import { isApiError } from '../../kubernetes/api-error.ts';
import type { Resource } from '../../kubernetes/api.ts';
import { networkAttachmentDefinitions, networkPolicies } from '../../kubernetes/resources.ts';
import { conflictError } from '../changed-by-others.ts';
import type { CallContext } from '../cloud.ts';
import { createOrGet } from '../create-unless-there.ts';
import type { Json } from '../input.ts';
import { isManaged } from '../labels.ts';
import { waitForDeletion } from '../remove-object.ts';
import type { NetworkObject } from './network-object.ts';
import { deletionSeconds, networkObject } from './network-object.ts';
import { parseNetworkRequest } from './network-request.ts';

const tries = 10;

/**
 * create_network({type, cloud_properties, range, gateway}): returns `[cid, {range, gateway, reserved},
 * cloud_properties]`; those cloud_properties replace the subnet's, and create_vm reads them. Idempotent: the
 * same request returns the same network, also after an interrupted call. Rejects with NOT_IMPLEMENTED, before
 * any change, if nothing would enforce the network or the cluster does not serve the kind.
 */
export async function createNetwork(
  cloud: CallContext,
  args: readonly unknown[],
): Promise<[string, { range: string; gateway: string; reserved: string[] }, Json]> {
  const request = parseNetworkRequest(args[0], cloud.config);
  const object = networkObject(cloud, request);
  const { name = '' } = object.metadata;
  const isPolicy = request.kind === 'policy';
  await ensureNetworkObject(cloud, isPolicy ? networkPolicies : networkAttachmentDefinitions, object);
  const properties = isPolicy ? { network_policy: name } : { network_attachment: name };
  return [name, { range: request.range.text, gateway: request.gateway, reserved: [] }, properties];
}

async function ensureNetworkObject(
  cloud: CallContext,
  resource: Resource,
  object: NetworkObject,
): Promise<void> {
  const { name = '' } = object.metadata;
  for (let left = tries; left > 0; left -= 1) {
    const ensured = await createOrGet(cloud.api, resource, object).catch((error: unknown) => {
      throw isApiMissing(error) ? apiMissingError(resource) : error;
    });
    if (ensured?.isNew === true) return;
    if (ensured === undefined) continue;
    const found = ensured.object;
    if (!isManaged(found, 'network'))
      throw new ProductError(
        'INVALID_ARGUMENT',
        `${resource.plural} '${name}' exists and is not of this CPI; remove or rename it`,
      );
    if (found.metadata.deletionTimestamp === undefined) return;
    await waitForDeletion(cloud, {
      reference: { resource, namespace: cloud.namespace, name },
      uid: found.metadata.uid ?? '',
      deadlineSeconds: deletionSeconds,
      what: `the former network '${name}'`,
    });
  }
  throw conflictError('KUBERNETES_CONFLICT', `network '${name}'`);
}

/** True if the cluster does not serve the kind. A missing namespace is also a 404, but another error. */
const isApiMissing = (error: unknown): boolean =>
  isApiError(error, 404) && error.status.details?.kind !== 'namespaces';

function apiMissingError({ group, plural }: Resource): ProductError {
  const what = plural === networkPolicies.plural ? 'NetworkPolicies' : 'Multus';
  return new ProductError(
    'NOT_IMPLEMENTED',
    `create_network: this cluster has no ${what}: it does not serve ${plural}.${group}; install it, or leave out managed: true`,
  );
}
