import { BlockList, isIP } from 'node:net';

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
  const slash = text.indexOf('/');
  const address = text.slice(0, slash);
  const version = isIP(address);
  const length = text.slice(slash + 1);
  const bits = version === 4 ? 32 : 128;
  if (slash === -1 || version === 0 || !/^\d{1,3}$/.test(length) || Number(length) > bits) return undefined;
  const prefix = Number(length);
  const family = version === 4 ? 'ipv4' : 'ipv6';
  const list = new BlockList();
  list.addSubnet(address, prefix, family);
  const host = (1n << BigInt(bits - prefix)) - 1n;
  const mask = ((1n << BigInt(bits)) - 1n) ^ host;
  const number = toNumber(address, version);
  return {
    family,
    prefix,
    netmask: version === 4 ? dotted(mask) : grouped(mask),
    contains: (other) => isIP(other) === version && list.check(other, family),
    first: version === 4 ? dotted(number & mask) : grouped(number & mask),
    last: version === 4 ? dotted(number | host) : grouped(number | host),
  };
}

/** Returns true if both are the same address, even in different spellings. */
export function isSameAddress(a: string, b: string): boolean {
  const [x, y] = [isIP(a), isIP(b)];
  return x !== 0 && x === y && toNumber(a, x) === toNumber(b, y);
}

function toNumber(address: string, version: number): bigint {
  if (version === 4) return address.split('.').reduce((sum, octet) => sum * 256n + BigInt(octet), 0n);
  const [start = '', end] = address.replace(/(\d+)\.(\d+)\.(\d+)\.(\d+)$/, embeddedIpv4).split('::');
  const head = start === '' ? [] : start.split(':');
  const tail = end === undefined || end === '' ? [] : end.split(':');
  const groups = [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail];
  return groups.reduce((sum, group) => sum * 65536n + BigInt(`0x${group}`), 0n);
}

function embeddedIpv4(_: string, ...octets: readonly string[]): string {
  const [a = 0, b = 0, c = 0, d = 0] = octets.slice(0, 4).map(Number);
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}

function dotted(number: bigint): string {
  return [24n, 16n, 8n, 0n].map((shift) => (number >> shift) & 255n).join('.');
}

function grouped(number: bigint): string {
  const hex = number.toString(16).padStart(32, '0');
  return hex.match(/.{4}/g)?.join(':') ?? '';
}
