import { addressBits, addressOf, bitsOf, canonicalAddress, familyOf } from '../../kubernetes/ip-text.ts';
import type { Family } from '../../kubernetes/ip-text.ts';
import type { Location } from '../input.ts';
import { stringAt, invalidValue } from '../input.ts';

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
