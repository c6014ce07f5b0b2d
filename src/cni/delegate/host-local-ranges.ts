import { addressBits, bitsOf, canonicalAddress, familyOf } from '../../platform/ip-address.ts';
import { CniError, cniErrorCode } from '../cni-error.ts';
import { type JsonObject, isObject } from '../../platform/json.ts';

/**
 * Returns the host-local configuration for a pod with fixed addresses. `rangeStart` and `rangeEnd` limit
 * dynamic addresses, but a fixed address may be anywhere in the subnet. So the limits are removed from the
 * range sets that contain a fixed address; from the other sets the pod gets a dynamic address. One
 * reservation store serves both. Throws CniError 102 for an address outside of all subnets.
 */
export function openRanges(ipam: JsonObject, addresses: readonly string[]): JsonObject {
  const sets = rangeSets(ipam);
  const outside = addresses.find((address) => !sets.some((set) => contains(set, address)));
  if (outside !== undefined)
    throw new CniError(
      cniErrorCode.addressInvalid,
      `the address ${outside} is in none of the subnets of host-local: ${sets.flat().map(subnetOf).join(', ')}`,
    );
  const others = Object.entries(ipam).filter(([key]) => !rangeKeys.includes(key));
  return {
    ...Object.fromEntries(others),
    ranges: sets.map((set) => (addresses.some((address) => contains(set, address)) ? opened(set) : set)),
  };
}

type Range = JsonObject & { readonly subnet: string };

const rangeKeys = ['ranges', 'subnet', 'rangeStart', 'rangeEnd', 'gateway'];

/** Returns all range sets. The single range of the old form comes first, as in host-local. */
function rangeSets(ipam: JsonObject): readonly (readonly Range[])[] {
  const { ranges = [], subnet, rangeStart, rangeEnd, gateway } = ipam;
  const old = subnet === undefined ? [] : [[defined({ subnet, rangeStart, rangeEnd, gateway })]];
  if (!Array.isArray(ranges)) throw invalidRanges();
  return [...old, ...(ranges as unknown[])].map((set) => {
    if (!Array.isArray(set) || !set.every(isRange)) throw invalidRanges();
    return set;
  });
}

const invalidRanges = (): CniError =>
  new CniError(
    cniErrorCode.invalidConfig,
    'the ranges of host-local are not lists of ranges, each with a subnet',
  );

function isRange(value: unknown): value is Range {
  return isObject(value) && typeof value['subnet'] === 'string' && prefixOf(value['subnet']) !== undefined;
}

function defined(range: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(range).filter(([, value]) => value !== undefined));
}

/** Removes the limits from a set. Keeps each subnet only once, because two complete ones would overlap. */
function opened(set: readonly Range[]): readonly JsonObject[] {
  const bySubnet = new Map<string, JsonObject>();
  for (const { rangeStart: _start, rangeEnd: _end, ...range } of set) {
    const prefix = prefixOf(range.subnet) ?? '';
    bySubnet.set(prefix, { ...range, ...bySubnet.get(prefix) });
  }
  return [...bySubnet.values()];
}

const subnetOf = ({ subnet }: Range): string => subnet;

const contains = (set: readonly Range[], address: string): boolean =>
  set.some(({ subnet }) => {
    const prefix = prefixOf(subnet);
    return prefix !== undefined && `${familyOf(address)} ${bits(address)}`.startsWith(prefix);
  });

/**
 * Returns the family of a subnet and the bits that its addresses share; undefined if the text is not a
 * subnet.
 */
function prefixOf(subnet: string): string | undefined {
  const [address = '', length = '', ...rest] = subnet.split('/');
  const family = familyOf(address);
  if (family === undefined || rest.length > 0 || !/^\d{1,3}$/u.test(length)) return undefined;
  if (Number(length) > addressBits(family)) return undefined;
  return `${family} ${bits(address).slice(0, Number(length))}`;
}

function bits(address: string): string {
  const family = familyOf(address);
  return family === undefined ? '' : bitsOf(canonicalAddress(address), family);
}
