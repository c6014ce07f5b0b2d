import { ProductError } from '../../errors/product-error.ts';
import type { Json, Location } from '../input.ts';
import { child, optionalStringAt, stringAt, stringsAt, invalidValue } from '../input.ts';
import type { Family } from '../../kubernetes/ip-text.ts';
import { addressBits, canonicalAddress, familyOf, maskLength } from '../../kubernetes/ip-text.ts';
import type { NetworkProperties } from './network-properties.ts';
import { parseNetworkProperties } from './network-properties.ts';

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
