import { openRanges } from './host-local-ranges.ts';
import { type JsonObject, isObject } from '../../platform/json.ts';
import type { NetworkConfig } from '../plugin/config.ts';
import { CniError, cniErrorCode } from '../cni-error.ts';
import { createHash } from 'node:crypto';
import { bitsOf, familyOf } from '../../platform/ip-address.ts';

/**
 * Returns the input of the delegate: its own configuration with the fields that a runtime adds to every
 * configuration. From runtimeConfig it gets the capabilities that it declares, as if the runtime called it.
 */
export function delegateConfig({
  cniVersion,
  name,
  delegate,
  runtimeConfig,
  all,
}: NetworkConfig): JsonObject {
  const { capabilities } = delegate;
  const declared = Object.entries(runtimeConfig).filter(
    ([key]) => isObject(capabilities) && capabilities[key] === true,
  );
  const fromRuntime = Object.entries(all).filter(
    ([key]) => key === 'prevResult' || key.startsWith('cni.dev/'),
  );
  const args = mergedArgs(all['args'], delegate['args']);
  return {
    ...delegate,
    ...Object.fromEntries(fromRuntime),
    ...(args !== undefined && { args }),
    ...(declared.length > 0 && { runtimeConfig: Object.fromEntries(declared) }),
    cniVersion,
    name,
  };
}

/**
 * Returns the input of the delegate for ADD with these addresses; the caller sets CNI_ARGS. Throws CniError 7
 * or 102.
 */
export function delegateConfigFor(
  config: NetworkConfig,
  addresses: readonly string[],
  method: IpRequestMethod,
): JsonObject {
  const plain = withHardwareAddress(withOpenRanges(delegateConfig(config), addresses), addresses);
  switch (method) {
    case 'runtimeConfig.ips': {
      const { runtimeConfig } = plain;
      return { ...plain, runtimeConfig: { ...(isObject(runtimeConfig) && runtimeConfig), ips: addresses } };
    }
    case 'args.cni.ips':
      return { ...plain, args: mergedArgs(plain['args'], { cni: { ips: addresses } }) };
    case 'CNI_ARGS':
      return plain;
    default:
      return method satisfies never;
  }
}

function withOpenRanges(config: JsonObject, addresses: readonly string[]): JsonObject {
  const { ipam } = config;
  return isObject(ipam) && ipam['type'] === 'host-local'
    ? { ...config, ipam: openRanges(ipam, addresses) }
    : config;
}

/**
 * Only for `bridge`: pods on it share a network segment, and it accepts a hardware address
 * (plugins/main/bridge, capability `mac`).
 */
function withHardwareAddress(config: JsonObject, addresses: readonly string[]): JsonObject {
  const { type, runtimeConfig } = config;
  if (type !== 'bridge') return config;
  const existing = isObject(runtimeConfig) ? runtimeConfig : {};
  return { ...config, runtimeConfig: { mac: hardwareAddress(addresses), ...existing } };
}

/** Merges args, including their field `cni`; values of `last` win. */
function mergedArgs(first: unknown, last: unknown): JsonObject | undefined {
  if (!isObject(last)) return isObject(first) ? first : undefined;
  if (!isObject(first)) return last;
  const cni = { ...(isObject(first['cni']) && first['cni']), ...(isObject(last['cni']) && last['cni']) };
  return { ...first, ...last, ...(Object.keys(cni).length > 0 && { cni }) };
}

/**
 * The ways to request an address from a delegate (containernetworking/cni CONVENTIONS.md). Only one is used
 * at a time: host-local would combine the addresses of several.
 */
const ipRequestMethods = ['runtimeConfig.ips', 'args.cni.ips', 'CNI_ARGS'] as const;
export type IpRequestMethod = (typeof ipRequestMethods)[number];

/**
 * Returns the way that `request` of the configuration sets, else the one that the delegate's IPAM plugin
 * supports. Throws CniError 7.
 */
export function ipRequestMethod({ all: { request }, delegate: { ipam } }: NetworkConfig): IpRequestMethod {
  if (request === undefined)
    return isObject(ipam) && ipam['type'] === 'calico-ipam' ? 'CNI_ARGS' : 'runtimeConfig.ips';
  const method = ipRequestMethods.find((known) => known === request);
  if (method !== undefined) return method;
  throw new CniError(cniErrorCode.invalidConfig, `'request' must be one of ${ipRequestMethods.join(', ')}`);
}

/** Returns CNI_ARGS with that address as its only address. */
export function argumentsWithAddress(text: string | undefined, address: string): string {
  const others = (text ?? '').split(';').filter((pair) => pair !== '' && !pair.startsWith('IP='));
  const lenient = others.some((pair) => pair.startsWith('IgnoreUnknown=')) ? [] : ['IgnoreUnknown=1'];
  return [...lenient, ...others, `IP=${address}`].join(';');
}

/**
 * Returns the hardware address for fixed addresses, always the same for the same addresses. Otherwise a
 * recreated pod with its previous address could not be reached for about a minute from hosts with the
 * previous pod in their ARP caches, because not every plugin announces a new hardware address. The result is
 * locally administered. For an IPv4 address it contains the whole address, so that no two collide.
 */
export function hardwareAddress(addresses: readonly string[]): string {
  const address = addresses.find((each) => familyOf(each) === 'IPv4');
  const octets =
    address === undefined
      ? [0x0e, ...createHash('sha256').update(addresses.join(',')).digest().subarray(0, 5)]
      : [
          0x0a,
          0x58,
          ...(bitsOf(address, 'IPv4').match(/.{8}/gu) ?? []).map((bits) => Number.parseInt(bits, 2)),
        ];
  return octets.map((octet) => octet.toString(16).padStart(2, '0')).join(':');
}
