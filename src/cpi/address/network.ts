import { ProductError } from '../../errors/product-error.ts';
import type { Json, Place } from '../input.ts';
import { at, optionalStringAt, stringAt, stringsAt, wrong } from '../input.ts';
import type { Family } from '../../kubernetes/ip-text.ts';
import { addressBits, canonicalAddress, familyOf, maskLength } from '../../kubernetes/ip-text.ts';
import type { NetworkProperties } from './network-properties.ts';
import { parseNetworkProperties } from './network-properties.ts';

/** One entry of the networks hash. */
export interface Network {
  readonly name: string;
  readonly type: 'manual' | 'dynamic' | 'vip';
  /** In its canonical spelling; absent: any. */
  readonly address: string | undefined;
  readonly family: Family | undefined;
  /** Of the subnet. */
  readonly prefixLength: number | undefined;
  /** Of the subnet. */
  readonly gateway: string | undefined;
  /** Where the default route goes, if this network has it. */
  readonly defaultGateway: string | undefined;
  /** True where its `dns` is meant for the VM, of several networks. */
  readonly isDnsDefault: boolean;
  readonly dns: readonly string[];
  readonly nicGroup: string | undefined;
  readonly properties: NetworkProperties;
}

/** True for a network of the pod's own interface. */
export const isOwnInterface = ({ type, properties }: Network): boolean =>
  type !== 'vip' && properties.attachment === undefined;

/** Throws INVALID_ARGUMENT for a wrong shape, NOT_SUPPORTED for a block of addresses. */
export function parseNetwork(name: string, given: Json, place: Place): Network {
  const type = typeAt(given['type'], at(place, 'type'));
  const properties = parseNetworkProperties(given['cloud_properties'], at(place, 'cloud_properties'));
  checkVip(type, properties, place);
  const address = type === 'dynamic' ? undefined : addressOf(type, given['ip'], at(place, 'ip'));
  const family = address === undefined ? undefined : familyOf(address);
  if (family !== undefined) refuseBlock(given['prefix'], family, place);
  const mask = optionalStringAt(given['netmask'], at(place, 'netmask'));
  const prefixLength = mask === undefined || family === undefined ? undefined : maskLength(mask, family);
  if (mask !== undefined && family !== undefined && prefixLength === undefined)
    throw wrong(at(place, 'netmask'), `is not a netmask of ${family}`);
  const defaults = stringsAt(given['default'], at(place, 'default'));
  const gateway = optionalStringAt(given['gateway'], at(place, 'gateway'));
  return {
    ...{ name, type, address, family, prefixLength, properties, gateway },
    defaultGateway: defaults.includes('gateway') ? gateway : undefined,
    isDnsDefault: defaults.includes('dns'),
    dns: stringsAt(given['dns'], at(place, 'dns')).map((server, index) =>
      addressAt(server, at(at(place, 'dns'), index)),
    ),
    nicGroup: nicGroupAt(given['nic_group'], at(place, 'nic_group')),
  };
}

function typeAt(value: unknown, place: Place): Network['type'] {
  const type = value ?? 'manual';
  if (type !== 'manual' && type !== 'dynamic' && type !== 'vip')
    throw wrong(place, 'has to be manual, dynamic or vip');
  return type;
}

function addressOf(type: Network['type'], value: unknown, place: Place): string {
  if (type === 'manual' && (value === undefined || value === null))
    throw wrong(
      place,
      'is missing: a manual network needs an address (static_ips); a dynamic one needs none',
    );
  return addressAt(value, place);
}

function addressAt(value: unknown, place: Place): string {
  const ip = stringAt(value, place);
  if (familyOf(ip) === undefined) throw wrong(place, 'is not an IP address');
  return canonicalAddress(ip);
}

function checkVip(type: Network['type'], { vip, attachment, policy }: NetworkProperties, place: Place): void {
  const properties = at(place, 'cloud_properties');
  if (type !== 'vip') {
    if (vip !== undefined) throw wrong(at(properties, 'vip'), 'is for networks of type vip');
    return;
  }
  if (vip === undefined)
    throw wrong(
      at(properties, 'vip'),
      'is needed: {via, ports}, since a Service passes on the ports that it lists',
    );
  if (attachment !== undefined || policy !== undefined)
    throw wrong(properties, 'of a vip has network_attachment or network_policy, which are for interfaces');
}

/** `prefix` is the size of a block that the VM is to have; an address is a block of one. */
function refuseBlock(value: unknown, family: Family, place: Place): void {
  if (value === undefined || value === null || value === '') return;
  if (Number(value) === addressBits(family)) return;
  throw new ProductError(
    'NOT_SUPPORTED',
    `${place.path}.prefix: a pod gets single addresses, no block of them; leave prefix out or set it to ${addressBits(family)} for ${family}`,
  );
}

function nicGroupAt(value: unknown, place: Place): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string' && typeof value !== 'number')
    throw wrong(place, 'has to be a string or a number');
  return String(value);
}
