import { ProductError } from '../../errors/product-error.ts';
import { isApiError } from '../../kubernetes/client/api-error.ts';
import type { Resource } from '../../kubernetes/api.ts';
import { networkAttachmentDefinitions, networkPolicies } from '../../kubernetes/resources.ts';
import { conflictError, createOrGet, waitForDeletion } from '../objects/objects.ts';
import type { CallContext } from '../call.ts';
import type { CreateNetworkRequest } from '../protocol/methods.ts';
import type { JsonObject } from '../../platform/json.ts';
import { isManaged, baseLabels } from '../objects/labels.ts';
import { parseNetworkRequest, type NetworkRequest } from './network-request.ts';
import type { NamespacedObject } from '../../kubernetes/object.ts';
import { sha256, attachmentPrefix, membershipLabel, policyPrefix } from '../objects/names.ts';

const tries = 10;

/**
 * create_network({type, cloud_properties, range, gateway}): returns `[cid, {range, gateway, reserved},
 * cloud_properties]`; those cloud_properties replace the subnet's, and create_vm reads them. Idempotent: the
 * same request returns the same network, also after an interrupted call. Rejects with NOT_IMPLEMENTED, before
 * any change, if nothing would enforce the network or the cluster does not serve the kind.
 */
export async function createNetwork(
  call: CallContext,
  { definition }: CreateNetworkRequest,
): Promise<[string, { range: string; gateway: string; reserved: string[] }, JsonObject]> {
  const request = parseNetworkRequest(definition, call.config);
  const object = networkObject(call, request);
  const { name } = object.metadata;
  const isPolicy = request.kind === 'policy';
  await ensureNetworkObject(call, isPolicy ? networkPolicies : networkAttachmentDefinitions, object);
  const properties = isPolicy ? { network_policy: name } : { network_attachment: name };
  return [name, { range: request.range.text, gateway: request.gateway, reserved: [] }, properties];
}

async function ensureNetworkObject(
  call: CallContext,
  resource: Resource,
  object: NetworkObject,
): Promise<void> {
  const { name } = object.metadata;
  for (let attempts = tries; attempts > 0; attempts -= 1) {
    const ensured = await createOrGet(call.api, resource, object).catch((error: unknown) => {
      throw isApiMissing(error) ? apiMissingError(resource) : error;
    });
    if (ensured?.isNew === true) return;
    if (ensured === undefined) continue;
    const found = ensured.object;
    if (!isManaged(found, 'network'))
      throw new ProductError(
        'INVALID_ARGUMENT',
        `${resource.plural} '${name}' exists and is not managed by this CPI; remove or rename it`,
      );
    if (found.metadata.deletionTimestamp === undefined) return;
    await waitForDeletion(call, {
      reference: { resource, namespace: call.namespace, name },
      uid: found.metadata.uid,
      deadlineSeconds: deletionSeconds,
      what: `the previous network '${name}'`,
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

export interface NetworkObject extends NamespacedObject {
  readonly spec: Record<string, unknown>;
}

/** How many seconds create_network and delete_network wait until a terminating network is deleted. */
export const deletionSeconds = 300;

/**
 * Returns the object of a network. Its name is derived from the request, so that a call that is repeated
 * after a crash finds the object of the interrupted call: create_network has no other key.
 */
export function networkObject(call: CallContext, request: NetworkRequest): NetworkObject {
  const prefix = request.kind === 'policy' ? policyPrefix : attachmentPrefix;
  const name = `${prefix}${digestOf([call.directorUuid, request])}`;
  return {
    metadata: {
      name,
      namespace: call.namespace,
      labels: baseLabels(call, 'network'),
      annotations: { 'bosh.cloudfoundry.org/range': request.range.text },
    },
    spec:
      request.kind === 'policy'
        ? policySpec(name, request.allowFrom)
        : attachmentSpec(name, request.pluginConfig),
  };
}

/**
 * Returns the spec of a policy: VMs of the network accept traffic from each other and from the allowed ranges
 * only; their own outgoing traffic is not limited.
 */
function policySpec(name: string, allowFrom: readonly string[]): Record<string, unknown> {
  const podSelector = { matchLabels: { [membershipLabel(name)]: '' } };
  const from = [{ podSelector }, ...allowFrom.map((cidr) => ({ ipBlock: { cidr } }))];
  return { podSelector, policyTypes: ['Ingress'], ingress: [{ from }] };
}

/**
 * Returns the spec of a definition. The addresses come from the VMs' networks: the plugin `static` gets them
 * by the capability `ips`.
 */
function attachmentSpec(name: string, pluginConfig: Record<string, unknown>): Record<string, unknown> {
  const isList = pluginConfig['plugins'] !== undefined;
  const config = {
    cniVersion: '1.0.0',
    name,
    ...(!isList && { capabilities: { ips: true }, ipam: { type: 'static' } }),
    ...pluginConfig,
  };
  return { config: JSON.stringify(config) };
}

function digestOf(value: unknown): string {
  const sorted = JSON.stringify(value, (_, item: unknown) =>
    typeof item === 'object' && item !== null && !Array.isArray(item)
      ? Object.fromEntries(Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
  return sha256(sorted).slice(0, 20);
}
