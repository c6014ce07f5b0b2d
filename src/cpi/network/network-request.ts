import { ProductError } from '../../errors/product-error.ts';
import type { CpiConfig } from '../config/config.ts';
import { Field } from '../../platform/field.ts';
import type { JsonObject } from '../../platform/json.ts';
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
  | { readonly kind: 'attachment'; readonly pluginConfig: JsonObject }
);

const networkKeys = ['network_policy', 'allow_from', 'network_attachment'];

/**
 * Parses the argument of create_network: `{type, cloud_properties, range, gateway, netmask_bits}`. The
 * director merges the AZ's cloud_properties under the subnet's, so keys of a VM are accepted; all others are
 * rejected by name. Throws INVALID_ARGUMENT; NOT_SUPPORTED if the CPI would have to choose the range;
 * NOT_IMPLEMENTED if nothing would enforce the network.
 */
export function parseNetworkRequest(definition: JsonObject, config: CpiConfig): NetworkRequest {
  const request = new Field(definition, 'create_network', 'INVALID_ARGUMENT');
  request.rejectUnknownKeys(['type', 'cloud_properties', 'range', 'gateway', 'netmask_bits']);
  const type = request.get('type');
  if (type.isPresent && type.value !== 'manual')
    throw new ProductError(
      'NOT_SUPPORTED',
      `${type.path}: only manual networks can be created; set type: manual, or leave out managed: true`,
    );
  const kind = readNetworkKind(request.get('cloud_properties'), config);
  if (!request.get('range').isPresent)
    throw new ProductError(
      'NOT_SUPPORTED',
      `${request.path}.range is missing: the CPI cannot choose a range, because the cluster assigns the addresses of pods; set one`,
    );
  const range = readIpRange(request.get('range'));
  const gateway = request.get('gateway');
  return {
    ...kind,
    range,
    gateway: gateway.isPresent ? readAddressInRange(gateway, range) : firstAddress(range),
  };
}

function readNetworkKind(
  properties: Field,
  { networks }: CpiConfig,
): { kind: 'policy'; allowFrom: string[] } | { kind: 'attachment'; pluginConfig: JsonObject } {
  const ofNetwork = Object.entries(properties.record()).filter(([key]) => !vmPropertyKeys.includes(key));
  new Field(Object.fromEntries(ofNetwork), properties.path, 'INVALID_ARGUMENT').rejectUnknownKeys(
    networkKeys,
  );
  const hasPolicy = properties.get('network_policy').optional()?.boolean();
  const allowFrom = properties
    .get('allow_from')
    .list()
    .map((range) => readIpRange(range).text);
  const attachment = properties.get('network_attachment');
  if (attachment.isPresent) {
    if (hasPolicy === true || allowFrom.length > 0)
      throw properties.error(
        'has network_attachment and keys for a policy; no policy reaches such an interface',
      );
    return { kind: 'attachment', pluginConfig: readCniConfig(attachment) };
  }
  if (hasPolicy ?? networks.networkPolicy) return { kind: 'policy', allowFrom };
  throw new ProductError(
    'NOT_IMPLEMENTED',
    `${properties.path}: choose the kind of network: a NetworkPolicy, if the cluster enforces them (network_policy: true, here or in ` +
      'the property networks.network_policy), or an interface of Multus (network_attachment: a CNI configuration)',
  );
}

/** Reads a CNI plugin's configuration, or a list of them in `plugins`; the plugins check its content. */
function readCniConfig(field: Field): JsonObject {
  const config = field.record();
  if (typeof config['type'] !== 'string' && !Array.isArray(config['plugins']))
    throw field.error('must be a CNI configuration with a type, or plugins');
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
export function readIpRange(field: Field): IpRange {
  const text = field.nonEmptyString();
  const [address = '', length = '', ...more] = text.split('/');
  const family = familyOf(address);
  const isLength = /^\d{1,3}$/u.test(length) && family !== undefined && Number(length) <= addressBits(family);
  if (family === undefined || !isLength || more.length > 0) throw field.error('is not a range (10.0.0.0/24)');
  return { text, family, prefix: bitsOf(address, family).slice(0, Number(length)) };
}

/** True for an address of the range. */
export const isInRange = ({ family, prefix }: IpRange, address: string): boolean =>
  familyOf(address) === family && bitsOf(address, family).startsWith(prefix);

/** Returns an address of the range in its canonical spelling. Throws INVALID_ARGUMENT. */
export function readAddressInRange(field: Field, range: IpRange): string {
  return canonicalAddress(
    field.stringThat((text) => isInRange(range, text), 'is not an address of the range'),
  );
}

/** Returns the first address after the network's own; if the range is one address, that address. */
export function firstAddress({ family, prefix }: IpRange): string {
  const free = addressBits(family) - prefix.length;
  const rest = free === 0 ? '' : '1'.padStart(free, '0');
  return addressOf(`${prefix}${rest}`, family);
}
