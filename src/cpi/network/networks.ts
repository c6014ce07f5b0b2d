import { ProductError } from '../../errors/product-error.ts';
import type { Field } from '../../platform/field.ts';
import type { JsonObject } from '../../platform/json.ts';
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
  readonly given: Readonly<Record<string, JsonObject>>;
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
export function parseNetworks(field: Field): Networks {
  const entries = field.entries();
  const all = entries.map(([name, network]) => parseNetwork(name, network));
  const vips = all.filter(({ type }) => type === 'vip');
  const attached = all.filter(({ properties }) => properties.attachment !== undefined);
  const own = all.filter(isPodInterface);
  if (own.length + attached.length === 0)
    throw field.error(vips.length === 0 ? 'names no network' : 'names no network but vip');
  rejectSecondInterface(own, field.path);
  const given = Object.fromEntries(entries.map(([name, network]) => [name, network.record()]));
  return { given, podNetworks: own, multusNetworks: attached, vips };
}

function rejectSecondInterface(own: readonly Network[], path: string): void {
  const families = own.map(({ family }) => family);
  const groups = new Set(own.map(({ nicGroup }) => nicGroup).filter((group) => group !== undefined));
  const isSingle = own.length < 2 || (new Set(families).size === own.length && !families.includes(undefined));
  if (isSingle && groups.size < 2) return;
  throw new ProductError(
    'NOT_SUPPORTED',
    `${path}: a pod has one interface with one address of each family, but ` +
      `${own.map(({ name }) => name).join(', ')} were requested; give the others ` +
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
export function parseNetwork(name: string, network: Field): Network {
  const type = network.get('type').optional()?.oneOf(['manual', 'dynamic', 'vip']) ?? 'manual';
  const properties = parseNetworkProperties(network.get('cloud_properties'));
  checkVip(type, properties, network.get('cloud_properties'));
  const address = type === 'dynamic' ? undefined : readRequiredAddress(network.get('ip'), type);
  const family = address === undefined ? undefined : familyOf(address);
  if (family !== undefined) rejectPrefix(network.get('prefix'), family);
  const mask = network.get('netmask').optional()?.nonEmptyString();
  const prefixLength = mask === undefined || family === undefined ? undefined : maskLength(mask, family);
  if (mask !== undefined && family !== undefined && prefixLength === undefined)
    throw network.get('netmask').error(`is not a netmask of ${family}`);
  const defaults = network.get('default').strings();
  const gateway = network.get('gateway').optional()?.nonEmptyString();
  return {
    ...{ name, type, address, family, prefixLength, properties, gateway },
    defaultGateway: defaults.includes('gateway') ? gateway : undefined,
    isDnsDefault: defaults.includes('dns'),
    dns: network.get('dns').list().map(readAddress),
    nicGroup: readNicGroup(network.get('nic_group')),
  };
}

function readRequiredAddress(field: Field, type: Network['type']): string {
  if (type === 'manual' && !field.isPresent)
    throw field.error('is missing: a manual network needs an address (static_ips); a dynamic one needs none');
  return readAddress(field);
}

function readAddress(field: Field): string {
  return canonicalAddress(field.stringThat((ip) => familyOf(ip) !== undefined, 'is not an IP address'));
}

function checkVip(type: Network['type'], { vip, attachment, policy }: NetworkProperties, field: Field): void {
  if (type !== 'vip') {
    if (vip !== undefined) throw field.get('vip').error('is for networks of type vip');
    return;
  }
  if (vip === undefined)
    throw field
      .get('vip')
      .error('is needed: {via, ports}, since a Service passes on the ports that it lists');
  if (attachment !== undefined || policy !== undefined)
    throw field.error('of a vip has network_attachment or network_policy, which are for interfaces');
}

/** Rejects a block of addresses. `prefix` is the size of a block for the VM; an address is a block of one. */
function rejectPrefix({ value, path }: Field, family: Family): void {
  if (value === undefined || value === '') return;
  if (Number(value) === addressBits(family)) return;
  throw new ProductError(
    'NOT_SUPPORTED',
    `${path}: a pod gets single addresses, no block of them; leave prefix out or set it to ${addressBits(family)} for ${family}`,
  );
}

function readNicGroup(field: Field): string | undefined {
  const { value } = field;
  if (value === undefined || typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  throw field.error('must be a string or a number');
}

export interface NetworkProperties {
  /** A NetworkAttachmentDefinition, which makes the network an interface of its own. */
  readonly attachment: { readonly namespace: string | undefined; readonly name: string } | undefined;
  /** A NetworkPolicy of create_network that applies to the VM. */
  readonly policy: string | undefined;
  /** The way in which traffic for a network of type vip gets to the VM. */
  readonly vip: VipProperties | undefined;
}

/**
 * Parses the cloud_properties of a network in create_vm. Rejects unknown keys by name. Throws
 * INVALID_ARGUMENT.
 */
export function parseNetworkProperties(properties: Field): NetworkProperties {
  properties.rejectUnknownKeys(['network_attachment', 'network_policy', 'vip']);
  const vip = properties.get('vip').optional();
  return {
    attachment: readNetworkAttachment(properties.get('network_attachment')),
    policy: properties
      .get('network_policy')
      .optional()
      ?.stringThat(isNetworkPolicy, 'must be a network that create_network made (net-policy-...)'),
    vip: vip && parseVipProperties(vip),
  };
}

const isNetworkPolicy = (name: string): boolean => name.startsWith('net-policy-') && isDnsLabel(name);

function readNetworkAttachment(field: Field): NetworkProperties['attachment'] {
  const text = field.optional()?.nonEmptyString();
  if (text === undefined) return undefined;
  const slash = text.indexOf('/');
  const namespace = slash < 0 ? undefined : text.slice(0, slash);
  const name = text.slice(slash + 1);
  if (!isDnsSubdomain(name) || (namespace !== undefined && !isDnsLabel(namespace)))
    throw field.error('must be the name of a NetworkAttachmentDefinition, or namespace/name');
  return { namespace, name };
}

/**
 * Kubernetes rejects a pod with more name servers, and resolvers ignore further ones (kubernetes:
 * pkg/apis/core/validation, MaxDNSNameservers; resolv.conf(5)).
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
