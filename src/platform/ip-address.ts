import type * as Net from 'node:net';

export type Family = 'IPv4' | 'IPv6';

/** Returns the family of an address; undefined if the text is not an address. */
export function familyOf(text: string): Family | undefined {
  const { isIPv4, isIPv6 } = zeroBits();
  if (isIPv4(text)) return 'IPv4';
  return isIPv6(text) && !text.includes('%') ? 'IPv6' : undefined;
}

/** Returns the canonical form of an address (RFC 5952 for IPv6), so that two addresses can be compared. */
export function canonicalAddress(address: string): string {
  return zeroBits().isIPv6(address) ? new URL(`http://[${address}]`).hostname.slice(1, -1) : address;
}

/** Returns the number of bits of an address: 32 or 128. */
export const addressBits = (family: Family): number => (family === 'IPv4' ? 32 : 128);

/**
 * Returns the prefix length of a mask such as `255.255.255.0` or `ffff:ffff::`; undefined if the text is not
 * a mask of that family.
 */
export function maskLength(mask: string, family: Family): number | undefined {
  if (familyOf(mask) !== family) return undefined;
  const bits = bitsOf(mask, family);
  return /^1*0*$/u.test(bits) ? bits.lastIndexOf('1') + 1 : undefined;
}

/** Returns the bits of an address as a text of 0 and 1. */
export function bitsOf(address: string, family: Family): string {
  if (family === 'IPv4')
    return address
      .split('.')
      .map((part) => binary(Number(part), 8))
      .join('');
  // the URL parser converts an IPv4 tail of an IPv6 address into groups
  const [head = '', tail] = canonicalAddress(address).split('::');
  const groups = (text: string | undefined): string[] =>
    text === undefined || text === '' ? [] : text.split(':');
  const missing = 8 - groups(head).length - groups(tail).length;
  const all = [...groups(head), ...Array.from({ length: missing }, () => '0'), ...groups(tail)];
  return all.map((group) => binary(Number.parseInt(group, 16), 16)).join('');
}

const binary = (value: number, length: number): string => value.toString(2).padStart(length, '0');

/** Returns the canonical address with those bits. */
export function addressOf(bits: string, family: Family): string {
  const size = family === 'IPv4' ? 8 : 16;
  const groups = Array.from({ length: bits.length / size }, (_, index) =>
    Number.parseInt(bits.slice(index * size, (index + 1) * size), 2),
  );
  return family === 'IPv4'
    ? groups.join('.')
    : canonicalAddress(groups.map((group) => group.toString(16)).join(':'));
}

/** Loaded on first use: loading costs a call of the CPI's executable milliseconds. */
const zeroBits = (): typeof Net => process.getBuiltinModule('node:net');
