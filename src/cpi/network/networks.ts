import { ProductError } from '../../errors/product-error.ts';
import {
  type Json,
  type Location,
  child,
  recordAt,
  invalidValue,
  optionalStringAt,
  stringAt,
  stringsAt,
  rejectUnknownKeys,
} from '../input.ts';
import {
  type Family,
  addressBits,
  canonicalAddress,
  familyOf,
  maskLength,
  bitsOf,
} from '../../platform/ip-address.ts';
import { isDnsLabel, isDnsSubdomain } from '../../kubernetes/names.ts';
import { type VipProperties, parseVipProperties } from '../service/service-properties.ts';

export interface Networks {
  /** The networks hash as received, for the settings and the result. */
  readonly given: Readonly<Record<string, Json>>;
  /**
   * The networks of the pod's own interface: one dynamic, or one manual of each family. May be empty if
   * Multus adds interfaces.
   */
  readonly podNetworks: readonly Network[];
  /** The networks for which Multus adds interfaces. */
  readonly multusNetworks: readonly Network[];
  readonly vips: readonly Network[];
}

/**
 * Parses the networks argument of create_vm. A pod has one interface, with one address of each family; every
 * other network needs a `network_attachment`, and a vip is a Service. A missing type means manual (old CLIs
 * leave it out: bosh-softlayer-cpi-release#130). Throws INVALID_ARGUMENT for a wrong shape, NOT_SUPPORTED for
 * what a pod cannot have.
 */
export function parseNetworks(value: unknown, place: Location): Networks {
  const entries = Object.entries(recordAt(value, place)).map(
    ([name, network]) => [name, recordAt(network, child(place, name))] as const,
  );
  const all = entries.map(([name, network]) => parseNetwork(name, network, child(place, name)));
  const vips = all.filter(({ type }) => type === 'vip');
  const attached = all.filter(({ properties }) => properties.attachment !== undefined);
  const own = all.filter(isPodInterface);
  if (own.length + attached.length === 0)
    throw invalidValue(place, vips.length === 0 ? 'names no network' : 'names no network but vip');
  rejectSecondInterface(own, place);
  return { given: Object.fromEntries(entries), podNetworks: own, multusNetworks: attached, vips };
}

function rejectSecondInterface(own: readonly Network[], place: Location): void {
  const families = own.map(({ family }) => family);
  const groups = new Set(own.map(({ nicGroup }) => nicGroup).filter((group) => group !== undefined));
  const isSingle = own.length < 2 || (new Set(families).size === own.length && !families.includes(undefined));
  if (isSingle && groups.size < 2) return;
  throw new ProductError(
    'NOT_SUPPORTED',
    `${place.path}: a pod has one interface with one address of each family, but ` +
      `${own.map(({ name }) => name).join(', ')} were asked for; give the others ` +
      'cloud_properties.network_attachment (with Multus), or leave them out',
  );
}

/** One entry of the networks hash. */
export interface Network {
  readonly name: string;
  readonly type: 'manual' | 'dynamic' | 'vip';
  /** The address in its canonical spelling; absent: any address. */
  readonly address: string | undefined;
  readonly family: Family | undefined;
  /** The prefix length of the subnet. */
  readonly prefixLength: number | undefined;
  /** The gateway of the subnet. */
  readonly gateway: string | undefined;
  /** The gateway of the default route, if this network has that route. */
  readonly defaultGateway: string | undefined;
  /** True if the VM uses the `dns` of this network, of several networks. */
  readonly isDnsDefault: boolean;
  readonly dns: readonly string[];
  readonly nicGroup: string | undefined;
  readonly properties: NetworkProperties;
}

/** True for a network of the pod's own interface. */
export const isPodInterface = ({ type, properties }: Network): boolean =>
  type !== 'vip' && properties.attachment === undefined;

/** Parses a network. Throws INVALID_ARGUMENT for a wrong shape, NOT_SUPPORTED for a block of addresses. */
export function parseNetwork(name: string, raw: Json, place: Location): Network {
  const type = typeAt(raw['type'], child(place, 'type'));
  const properties = parseNetworkProperties(raw['cloud_properties'], child(place, 'cloud_properties'));
  checkVip(type, properties, place);
  const address = type === 'dynamic' ? undefined : addressOf(type, raw['ip'], child(place, 'ip'));
  const family = address === undefined ? undefined : familyOf(address);
  if (family !== undefined) rejectPrefix(raw['prefix'], family, place);
  const mask = optionalStringAt(raw['netmask'], child(place, 'netmask'));
  const prefixLength = mask === undefined || family === undefined ? undefined : maskLength(mask, family);
  if (mask !== undefined && family !== undefined && prefixLength === undefined)
    throw invalidValue(child(place, 'netmask'), `is not a netmask of ${family}`);
  const defaults = stringsAt(raw['default'], child(place, 'default'));
  const gateway = optionalStringAt(raw['gateway'], child(place, 'gateway'));
  return {
    ...{ name, type, address, family, prefixLength, properties, gateway },
    defaultGateway: defaults.includes('gateway') ? gateway : undefined,
    isDnsDefault: defaults.includes('dns'),
    dns: stringsAt(raw['dns'], child(place, 'dns')).map((server, index) =>
      addressAt(server, child(child(place, 'dns'), index)),
    ),
    nicGroup: readNicGroup(raw['nic_group'], child(place, 'nic_group')),
  };
}

function typeAt(value: unknown, place: Location): Network['type'] {
  const type = value ?? 'manual';
  if (type !== 'manual' && type !== 'dynamic' && type !== 'vip')
    throw invalidValue(place, 'has to be manual, dynamic or vip');
  return type;
}

function addressOf(type: Network['type'], value: unknown, place: Location): string {
  if (type === 'manual' && (value === undefined || value === null))
    throw invalidValue(
      place,
      'is missing: a manual network needs an address (static_ips); a dynamic one needs none',
    );
  return addressAt(value, place);
}

function addressAt(value: unknown, place: Location): string {
  const ip = stringAt(value, place);
  if (familyOf(ip) === undefined) throw invalidValue(place, 'is not an IP address');
  return canonicalAddress(ip);
}

function checkVip(
  type: Network['type'],
  { vip, attachment, policy }: NetworkProperties,
  place: Location,
): void {
  const properties = child(place, 'cloud_properties');
  if (type !== 'vip') {
    if (vip !== undefined) throw invalidValue(child(properties, 'vip'), 'is for networks of type vip');
    return;
  }
  if (vip === undefined)
    throw invalidValue(
      child(properties, 'vip'),
      'is needed: {via, ports}, since a Service passes on the ports that it lists',
    );
  if (attachment !== undefined || policy !== undefined)
    throw invalidValue(
      properties,
      'of a vip has network_attachment or network_policy, which are for interfaces',
    );
}

/** Rejects a block of addresses. `prefix` is the size of a block for the VM; an address is a block of one. */
function rejectPrefix(value: unknown, family: Family, place: Location): void {
  if (value === undefined || value === null || value === '') return;
  if (Number(value) === addressBits(family)) return;
  throw new ProductError(
    'NOT_SUPPORTED',
    `${place.path}.prefix: a pod gets single addresses, no block of them; leave prefix out or set it to ${addressBits(family)} for ${family}`,
  );
}

function readNicGroup(value: unknown, place: Location): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string' && typeof value !== 'number')
    throw invalidValue(place, 'has to be a string or a number');
  return String(value);
}

export interface NetworkProperties {
  /** A NetworkAttachmentDefinition, which makes the network an interface of its own. */
  readonly attachment: { readonly namespace: string | undefined; readonly name: string } | undefined;
  /** A NetworkPolicy of create_network that applies to the VM. */
  readonly policy: string | undefined;
  /** How traffic for a network of type vip gets to the VM. */
  readonly vip: VipProperties | undefined;
}

/**
 * Parses the cloud_properties of a network in create_vm. Rejects unknown keys by name. Throws
 * INVALID_ARGUMENT.
 */
export function parseNetworkProperties(value: unknown, place: Location): NetworkProperties {
  const properties = recordAt(value, place);
  rejectUnknownKeys(properties, ['network_attachment', 'network_policy', 'vip'], place);
  const vip = properties['vip'] ?? undefined;
  return {
    attachment: readNetworkAttachment(properties['network_attachment'], child(place, 'network_attachment')),
    policy: readNetworkPolicy(properties['network_policy'], child(place, 'network_policy')),
    vip: vip === undefined ? undefined : parseVipProperties(vip, child(place, 'vip')),
  };
}

function readNetworkAttachment(value: unknown, place: Location): NetworkProperties['attachment'] {
  const text = optionalStringAt(value, place);
  if (text === undefined) return undefined;
  const slash = text.indexOf('/');
  const namespace = slash < 0 ? undefined : text.slice(0, slash);
  const name = text.slice(slash + 1);
  if (!isDnsSubdomain(name) || (namespace !== undefined && !isDnsLabel(namespace)))
    throw invalidValue(place, 'has to be the name of a NetworkAttachmentDefinition, or namespace/name');
  return { namespace, name };
}

function readNetworkPolicy(value: unknown, place: Location): string | undefined {
  const text = optionalStringAt(value, place);
  if (text !== undefined && !(text.startsWith('net-policy-') && isDnsLabel(text)))
    throw invalidValue(place, 'has to be a network that create_network made (net-policy-...)');
  return text;
}

/**
 * Kubernetes rejects a pod with more, and resolvers use no more (kubernetes: pkg/apis/core/validation,
 * MaxDNSNameservers; resolv.conf(5)).
 */
const maxNameServers = 3;

/**
 * Returns the addresses of the VM's name servers: those of the network that is the default for dns, or of the
 * only network (bosh-agent: settings/settings.go, Networks.DefaultNetworkFor). Empty: the name servers of the
 * pod, which resolve the names of the cluster.
 */
export function nameServers({ podNetworks, multusNetworks }: Networks): readonly string[] {
  const networks = [...podNetworks, ...multusNetworks];
  const chosen = networks.length === 1 ? networks[0] : networks.find(({ isDnsDefault }) => isDnsDefault);
  return (chosen?.dns ?? []).slice(0, maxNameServers);
}

/**
 * Throws VM_CREATION_FAILED for a fixed address that no VM of its subnet can have: the address of the
 * gateway, the network or broadcast address, or one outside the subnet. Skips networks without gateway or
 * netmask, because their subnet is unknown.
 */
export function assertUsableAddress({ podNetworks, multusNetworks }: Networks): void {
  for (const network of [...podNetworks, ...multusNetworks]) {
    const fault = addressProblem(network);
    if (fault === undefined) continue;
    throw new ProductError(
      'VM_CREATION_FAILED',
      `network '${network.name}': the address ${network.address ?? ''} ${fault}; choose another one in static_ips, or correct the ` +
        "subnet's range and gateway",
    );
  }
}

function addressProblem({ address, family, prefixLength, gateway }: Network): string | undefined {
  if (address === undefined || family === undefined) return undefined;
  const isGatewayOfFamily = gateway !== undefined && familyOf(gateway) === family;
  if (isGatewayOfFamily && canonicalAddress(gateway) === address) return "is the gateway's";
  if (prefixLength === undefined) return undefined;
  const bits = bitsOf(address, family);
  if (isGatewayOfFamily && !bitsOf(gateway, family).startsWith(bits.slice(0, prefixLength)))
    return `is not in the subnet of its gateway ${gateway} (/${prefixLength})`;
  const host = bits.slice(prefixLength);
  // both addresses of a /31 are hosts (RFC 3021), and IPv6 has no broadcast
  if (family === 'IPv6' || addressBits(family) - prefixLength < 2) return undefined;
  if (!host.includes('1')) return "is the subnet's own";
  return host.includes('0') ? undefined : 'is the broadcast address of its subnet';
}
