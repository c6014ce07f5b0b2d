import { addressBits, addressOf, bitsOf, canonicalAddress, familyOf } from '../../platform/ip-address.ts';

export interface IpRange {
  readonly family: 'ipv4' | 'ipv6';
  readonly prefix: number;
  /** The form for create_vm: dotted, or groups of hex digits. */
  readonly netmask: string;
  contains(address: string): boolean;
  /** First and last address. In IPv4 neither can be the address of a host. */
  readonly first: string;
  readonly last: string;
}

/** Parses `10.0.0.0/24` or `fd00::/64`. Returns undefined if the text is not a range. */
export function parseIpRange(text: string): IpRange | undefined {
  const [address = '', length = '', ...rest] = text.split('/');
  const family = familyOf(address);
  if (family === undefined || rest.length > 0 || !/^\d{1,3}$/u.test(length)) return undefined;
  const size = addressBits(family);
  const prefix = Number(length);
  if (prefix > size) return undefined;
  const shared = bitsOf(address, family).slice(0, prefix);
  const format = (bits: string): string =>
    family === 'IPv4' ? addressOf(bits, family) : hexGroups(bits).join(':');
  return {
    family: family === 'IPv4' ? 'ipv4' : 'ipv6',
    prefix,
    netmask: format('1'.repeat(prefix).padEnd(size, '0')),
    contains: (other) => familyOf(other) === family && bitsOf(other, family).startsWith(shared),
    first: format(shared.padEnd(size, '0')),
    last: format(shared.padEnd(size, '1')),
  };
}

const hexGroups = (bits: string): string[] =>
  (bits.match(/.{16}/gu) ?? []).map((group) => Number.parseInt(group, 2).toString(16).padStart(4, '0'));

/** Returns true if both are the same address, even in different spellings. */
export function isSameAddress(a: string, b: string): boolean {
  const family = familyOf(a);
  return family !== undefined && family === familyOf(b) && canonicalAddress(a) === canonicalAddress(b);
}
