import { ProductError } from '../../errors/product-error.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import type { Network } from './networks.ts';
import { canonicalAddress } from '../../platform/ip-address.ts';

/**
 * The annotation that Multus reads, and the annotation that it writes when the interfaces exist
 * (k8s.cni.cncf.io: Network Plumbing WG, v1.3).
 */
export const multus = {
  networks: 'k8s.v1.cni.cncf.io/networks',
  status: 'k8s.v1.cni.cncf.io/network-status',
} as const;

/** An element of the annotation: one interface. */
export interface MultusInterface {
  readonly name: string;
  readonly namespace: string;
  /** The addresses with the prefix length of the subnet, as the `static` plugin needs them. */
  readonly ips?: readonly string[];
  readonly 'default-route'?: readonly string[];
}

/**
 * Returns the interfaces beside the pod's own: networks of one nic_group and one definition share one. Throws
 * NOT_SUPPORTED for an address without a netmask.
 */
export function multusInterfaces(attached: readonly Network[], namespace: string): MultusInterface[] {
  const interfaces = Map.groupBy(attached, ({ name, nicGroup, properties: { attachment } }) =>
    JSON.stringify([attachment, nicGroup === undefined ? ['name', name] : ['group', nicGroup]]),
  );
  return [...interfaces.values()].flatMap((members) => {
    const attachment = members[0]?.properties.attachment;
    if (attachment === undefined) return [];
    const ips = members.flatMap((network) => cidrOf(network));
    const routes = members.flatMap(({ defaultGateway }) =>
      defaultGateway === undefined ? [] : [defaultGateway],
    );
    return [
      {
        name: attachment.name,
        namespace: attachment.namespace ?? namespace,
        ...(ips.length > 0 && { ips }),
        ...(routes.length > 0 && { 'default-route': routes }),
      },
    ];
  });
}

function cidrOf({ name, address, prefixLength }: Network): string[] {
  if (address === undefined) return [];
  if (prefixLength !== undefined) return [`${address}/${prefixLength}`];
  throw new ProductError(
    'NOT_SUPPORTED',
    `network '${name}': an address of a network_attachment needs a netmask; set one for the subnet`,
  );
}

/**
 * Returns why the additional interfaces of a running pod differ from those in its annotation; undefined if
 * they match.
 */
export function verifyMultusAddresses({ metadata }: Pod): string | undefined {
  const wanted = readNetworkStatus(metadata.annotations?.[multus.networks]);
  if (wanted.length === 0) return undefined;
  const status = metadata.annotations?.[multus.status];
  const there = readNetworkStatus(status).map(({ name, ips = [] }) => ({
    name,
    ips: ips.map(canonicalAddress),
  }));
  for (const { name, namespace, ips = [] } of wanted) {
    const found = there.filter((each) => each.name === `${namespace}/${name}` || each.name === name);
    const has = new Set(found.flatMap((each) => each.ips));
    const missing = ips.map((cidr) => cidr.split('/')[0] ?? '').filter((ip) => !has.has(ip));
    if (found.length > 0 && missing.length === 0) continue;
    const what =
      found.length === 0
        ? 'it has no interface'
        : `it did not get the address ${missing.join(', ')} on the interface`;
    return (
      `${what} of NetworkAttachmentDefinition ${namespace}/${name}: Multus must run on the node, and the ` +
      'definition needs the capability "ips" and an IPAM plugin that takes addresses (static)'
    );
  }
  return undefined;
}

/** Returns the addresses that a pod has from a definition, as Multus reports them. */
export function multusAddresses(
  { metadata }: Pod,
  namespace: string | undefined,
  name: string,
): readonly string[] {
  const full = `${namespace ?? metadata.namespace}/${name}`;
  return readNetworkStatus(metadata.annotations?.[multus.status])
    .filter((each) => each.name === full || each.name === name)
    .flatMap(({ ips = [] }) => ips.map(canonicalAddress));
}

/**
 * Parses the annotation. A text that is not JSON, from a user or an older Multus, counts as an empty list.
 */
function readNetworkStatus(text: string | undefined): { name: string; namespace: string; ips?: string[] }[] {
  if (text === undefined) return [];
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) ? (value as { name: string; namespace: string; ips?: string[] }[]) : [];
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return [];
  }
}
