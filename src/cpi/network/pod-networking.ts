import { ProductError } from '../../errors/product-error.ts';
import { isApiError } from '../../kubernetes/client/api-error.ts';
import type { Resource } from '../../kubernetes/api.ts';
import { networkAttachmentDefinitions, networkPolicies } from '../../kubernetes/resources.ts';
import type { CallContext } from '../call.ts';
import { labelValue, isNetworkCid, membershipLabel } from '../objects/names.ts';
import { annotationsForAddresses, findAddressStrategy } from './fixed-addresses.ts';
import { multusInterfaces, multus } from './multus.ts';
import type { Network, Networks } from './networks.ts';

/** The labels and annotations that a VM's networks add to its pod. */
export interface PodNetworking {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/**
 * Determines how this cluster provides the networks to a pod, and checks that the objects which they name
 * exist. Changes nothing. Rejects with NOT_SUPPORTED if a definition, Multus or a policy is missing.
 */
export async function resolvePodNetworking(call: CallContext, networks: Networks): Promise<PodNetworking> {
  const { podNetworks, multusNetworks } = networks;
  const elements = multusInterfaces(multusNetworks, call.namespace);
  const policies = policiesOf(networks);
  await Promise.all([
    ...elements.map((element) => assertDefinitionExists(call, element)),
    ...policies.map((policy) => assertPolicyExists(call, policy)),
  ]);
  const addresses = podNetworks.flatMap(({ address }) => (address === undefined ? [] : [address]));
  const strategy =
    addresses.length === 0
      ? undefined
      : await findAddressStrategy(call.api, call.config.networks.addressStrategy);
  return {
    labels: Object.fromEntries([
      ...addressLabels(networks, call.namespace).map((key) => [key, ''] as const),
      ...networkLabels(networks).map((cid) => [membershipLabel(cid), ''] as const),
    ]),
    annotations: {
      ...(strategy !== undefined && annotationsForAddresses(addresses, strategy)),
      ...(elements.length > 0 && { [multus.networks]: JSON.stringify(elements) }),
    },
  };
}

/**
 * Returns the labels by which the addresses of a VM in `namespace` are found when another VM requests one. An
 * address of a definition in the VM's own namespace has two: one with that namespace, and the one without it,
 * which is the only one on VMs of an earlier CPI and the only one that an earlier CPI looks for.
 */
export function addressLabels({ podNetworks, multusNetworks }: Networks, namespace: string): string[] {
  return [...podNetworks, ...multusNetworks].flatMap(({ address, properties: { attachment } }: Network) => {
    if (address === undefined) return [];
    return suffixesOf(attachment, namespace).map(
      (suffix) => `ip.bosh.cloudfoundry.org/${labelValue(`${address}${suffix}`)}`,
    );
  });
}

function suffixesOf(attachment: Network['properties']['attachment'], namespace: string): string[] {
  if (attachment === undefined) return [''];
  const full = `.${attachment.namespace ?? namespace}.${attachment.name}`;
  const isOwn = (attachment.namespace ?? namespace) === namespace;
  return isOwn ? [full, `..${attachment.name}`] : [full];
}

const policiesOf = ({ podNetworks, multusNetworks }: Networks): string[] => [
  ...new Set([...podNetworks, ...multusNetworks].flatMap(({ properties }) => properties.policy ?? [])),
];

/** Returns the networks of create_network that the VM belongs to. */
function networkLabels({ podNetworks, multusNetworks }: Networks): string[] {
  const named = [...podNetworks, ...multusNetworks].flatMap(({ properties: { attachment, policy } }) => [
    attachment?.name ?? '',
    policy ?? '',
  ]);
  return [...new Set(named)].filter(isNetworkCid);
}

async function assertDefinitionExists(
  call: CallContext,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): Promise<void> {
  if (await exists(call, networkAttachmentDefinitions, namespace, name)) return;
  throw new ProductError(
    'NOT_SUPPORTED',
    `there is no NetworkAttachmentDefinition ${namespace}/${name}: install Multus and create it, or leave ` +
      'network_attachment out',
  );
}

async function assertPolicyExists(call: CallContext, name: string): Promise<void> {
  if (await exists(call, networkPolicies, call.namespace, name)) return;
  throw new ProductError(
    'NOT_SUPPORTED',
    `there is no NetworkPolicy '${name}' in namespace ${call.namespace}: the network was deleted, or created in another namespace; create it again or correct kubernetes.namespace`,
  );
}

/** Returns whether the object exists. A kind that the cluster does not serve has no objects. */
async function exists(
  call: CallContext,
  resource: Resource,
  namespace: string,
  name: string,
): Promise<boolean> {
  try {
    await call.api.get({ resource, namespace, name });
    return true;
  } catch (error) {
    if (isApiError(error, 404)) return false;
    throw error;
  }
}
