import { BlockList, isIPv4, isIPv6 } from 'node:net';
import { ProductError } from '../errors/product-error.ts';

export interface ServiceName {
  readonly namespace: string;
  readonly name: string;
}

/** Returns the Service for a name that the operator mapped; undefined for any other name. */
export type NameMap = (host: string) => ServiceName | undefined;

const labelPattern = '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?';
const entryPattern = new RegExp(
  `^(?<wild>\\*\\.)?(?<domain>${labelPattern}(\\.${labelPattern})*)=(?<name>${labelPattern})(\\.(?<namespace>${labelPattern}))?$`,
  'u',
);

/**
 * Parses `*.DOMAIN=SERVICE` (every name below DOMAIN) and `NAME=SERVICE`. SERVICE.NAMESPACE names a Service
 * of another namespace than the first. The first matching entry counts. Throws INVALID_ARGUMENT.
 */
export function parseNameMap(entries: readonly string[], namespaces: readonly string[]): NameMap {
  const [first = ''] = namespaces;
  const parsed = entries.map((entry) => {
    const { wild, domain, name, namespace = first } = entryPattern.exec(entry.toLowerCase())?.groups ?? {};
    if (domain === undefined || name === undefined)
      throw new ProductError(
        'INVALID_ARGUMENT',
        `--map '${entry}' cannot be read; write '*.DOMAIN=SERVICE' or 'NAME=SERVICE', with SERVICE.NAMESPACE for another namespace than the first`,
      );
    if (!namespaces.includes(namespace))
      throw new ProductError(
        'INVALID_ARGUMENT',
        `--map '${entry}' names namespace '${namespace}', which the tunnel does not serve; add --namespace ${namespace}`,
      );
    const service = { namespace, name };
    return {
      service,
      fits: (host: string) => (wild === undefined ? host === domain : host.endsWith(`.${domain}`)),
    };
  });
  return (host) => parsed.find(({ fits }) => fits(host))?.service;
}

/** Address ranges of the cluster. */
export interface Networks {
  has(address: string): boolean;
}

/** Parses CIDRs. Throws INVALID_ARGUMENT, which names the text, for one that is not a CIDR. */
export function parseNetworks(ranges: readonly string[]): Networks {
  const list = new BlockList();
  for (const range of ranges) {
    const [, address = '', bits = ''] = /^([^/]+)\/(\d{1,3})$/u.exec(range) ?? [];
    const family = familyOf(address);
    if (family === undefined || Number(bits) > (family === 'ipv4' ? 32 : 128))
      throw new ProductError(
        'INVALID_ARGUMENT',
        `'${range}' is not a valid network; write one as 10.244.0.0/16 or fd00::/64`,
      );
    list.addSubnet(address, Number(bits), family);
  }
  return {
    has: (address) => {
      const family = familyOf(address);
      return family !== undefined && list.check(address, family);
    },
  };
}

function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  if (isIPv4(address)) return 'ipv4';
  return isIPv6(address) && !address.includes('%') ? 'ipv6' : undefined;
}

/**
 * Returns the canonical form of an address. An IPv4 address in IPv6 form (`::ffff:10.0.0.1`) becomes IPv4,
 * because it is dialled as IPv4.
 */
export function normalizeAddress(address: string): string {
  if (!isIPv6(address)) return address;
  const canonical = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [, high = '', low = ''] = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/u.exec(canonical) ?? [];
  if (high === '') return canonical;
  const bytes = [high, low].flatMap((group) => {
    const number = Number.parseInt(group, 16);
    return [number >> 8, number & 0xff];
  });
  return bytes.join('.');
}

/** True for a loopback address of this machine; no pod has such an address outside itself. */
export const isLoopbackAddress = (address: string): boolean =>
  address.startsWith('127.') || address === '::1';
