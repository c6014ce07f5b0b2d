import { ProductError } from '../../errors/product-error.ts';
import type { CpiConfig } from '../config/config.ts';
import {
  type Json,
  type Location,
  child,
  booleanAt,
  recordAt,
  rejectUnknownKeys,
  stringsAt,
  invalidValue,
  stringAt,
} from '../input.ts';
import { vmPropertyKeys } from '../vm/properties.ts';
import {
  addressBits,
  addressOf,
  bitsOf,
  canonicalAddress,
  familyOf,
  type Family,
} from '../../platform/ip-address.ts';

export type NetworkRequest = {
  readonly range: IpRange;
  readonly gateway: string;
} & (
  | { readonly kind: 'policy'; readonly allowFrom: readonly string[] }
  | { readonly kind: 'attachment'; readonly pluginConfig: Json }
);

const podNetworkKeys = ['network_policy', 'allow_from', 'network_attachment'];

/**
 * Parses the argument of create_network: `{type, cloud_properties, range, gateway, netmask_bits}`. The
 * director merges the AZ's cloud_properties under the subnet's, so keys of a VM are accepted; all others are
 * rejected by name. Throws INVALID_ARGUMENT; NOT_SUPPORTED if the CPI would have to choose the range;
 * NOT_IMPLEMENTED if nothing would enforce the network.
 */
export function parseNetworkRequest(given: Json, config: CpiConfig): NetworkRequest {
  const place: Location = { code: 'INVALID_ARGUMENT', path: 'create_network' };
  rejectUnknownKeys(given, ['type', 'cloud_properties', 'range', 'gateway', 'netmask_bits'], place);
  if ((given['type'] ?? 'manual') !== 'manual')
    throw new ProductError(
      'NOT_SUPPORTED',
      `${place.path}.type: only manual networks can be created; make it a manual one, or leave out managed: true`,
    );
  const properties = recordAt(given['cloud_properties'], child(place, 'cloud_properties'));
  const ours = Object.entries(properties).filter(([key]) => !vmPropertyKeys.includes(key));
  rejectUnknownKeys(Object.fromEntries(ours), podNetworkKeys, child(place, 'cloud_properties'));
  const what = readNetworkKind(properties, child(place, 'cloud_properties'), config);
  if ((given['range'] ?? undefined) === undefined)
    throw new ProductError(
      'NOT_SUPPORTED',
      `${place.path}.range is needed: the addresses of pods are the cluster's, this CPI cannot choose a range of them; give one`,
    );
  const range = readIpRange(given['range'], child(place, 'range'));
  const gateway = given['gateway'] ?? undefined;
  return {
    ...what,
    range,
    gateway:
      gateway === undefined
        ? firstAddress(range)
        : readAddressInRange(gateway, range, child(place, 'gateway')),
  };
}

function readNetworkKind(
  properties: Json,
  place: Location,
  { networks }: CpiConfig,
): { kind: 'policy'; allowFrom: string[] } | { kind: 'attachment'; pluginConfig: Json } {
  const requestedKinds = booleanAt(properties['network_policy'], child(place, 'network_policy'));
  const allowFrom = stringsAt(properties['allow_from'], child(place, 'allow_from')).map(
    (text, index) => readIpRange(text, child(child(place, 'allow_from'), index)).text,
  );
  const attachment = properties['network_attachment'] ?? undefined;
  if (attachment !== undefined) {
    if (requestedKinds === true || allowFrom.length > 0)
      throw invalidValue(
        place,
        'has network_attachment and what is for a policy; no policy reaches such an interface',
      );
    return {
      kind: 'attachment',
      pluginConfig: readCniConfig(attachment, child(place, 'network_attachment')),
    };
  }
  if (requestedKinds ?? networks.networkPolicy) return { kind: 'policy', allowFrom };
  throw new ProductError(
    'NOT_IMPLEMENTED',
    `${place.path}: name what it shall be: a NetworkPolicy where the cluster enforces them (network_policy: true, here or in ` +
      'the property networks.network_policy), or an interface of Multus (network_attachment: a CNI configuration)',
  );
}

/** Reads a CNI plugin's configuration, or a list of them in `plugins`; the plugins check its content. */
function readCniConfig(value: unknown, place: Location): Json {
  const config = recordAt(value, place);
  if (typeof config['type'] !== 'string' && !Array.isArray(config['plugins']))
    throw invalidValue(place, 'has to be a CNI configuration with a type, or plugins');
  return config;
}

export interface IpRange {
  /** The range as received: `10.0.0.0/24`. */
  readonly text: string;
  readonly family: Family;
  /** The bits that all its addresses have in common, a text of 0 and 1. */
  readonly prefix: string;
}

/** Parses a range. Throws INVALID_ARGUMENT. */
export function readIpRange(value: unknown, place: Location): IpRange {
  const text = stringAt(value, place);
  const [address = '', length = '', ...more] = text.split('/');
  const family = familyOf(address);
  const isLength = /^\d{1,3}$/u.test(length) && family !== undefined && Number(length) <= addressBits(family);
  if (family === undefined || !isLength || more.length > 0)
    throw invalidValue(place, 'is not a range (10.0.0.0/24)');
  return { text, family, prefix: bitsOf(address, family).slice(0, Number(length)) };
}

/** True for an address of the range. */
export const isInRange = ({ family, prefix }: IpRange, address: string): boolean =>
  familyOf(address) === family && bitsOf(address, family).startsWith(prefix);

/** Returns an address of the range in its canonical spelling. Throws INVALID_ARGUMENT. */
export function readAddressInRange(value: unknown, range: IpRange, place: Location): string {
  const text = stringAt(value, place);
  if (!isInRange(range, text)) throw invalidValue(place, 'is not an address of the range');
  return canonicalAddress(text);
}

/** Returns the first address after the network's own; if the range is one address, that address. */
export function firstAddress({ family, prefix }: IpRange): string {
  const free = addressBits(family) - prefix.length;
  const rest = free === 0 ? '' : '1'.padStart(free, '0');
  return addressOf(`${prefix}${rest}`, family);
}
