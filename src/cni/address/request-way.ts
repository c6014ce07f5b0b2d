import { CniError, cniErrorCode } from '../cni-error.ts';
import { isObject } from '../json.ts';
import type { NetworkConfig } from '../plugin/network-config.ts';

/**
 * The ways to request an address from a delegate (containernetworking/cni CONVENTIONS.md). Only one is used
 * at a time: host-local would combine the addresses of several.
 */
const requestWays = ['runtimeConfig.ips', 'args.cni.ips', 'CNI_ARGS'] as const;
export type IpRequestMethod = (typeof requestWays)[number];

/**
 * Returns the way that `request` of the configuration sets, else the one that the delegate's IPAM plugin
 * supports. Throws CniError 7.
 */
export function requestWay({ all: { request }, delegate: { ipam } }: NetworkConfig): IpRequestMethod {
  if (request === undefined)
    return isObject(ipam) && ipam['type'] === 'calico-ipam' ? 'CNI_ARGS' : 'runtimeConfig.ips';
  const way = requestWays.find((known) => known === request);
  if (way !== undefined) return way;
  throw new CniError(cniErrorCode.invalidConfig, `'request' is none of ${requestWays.join(', ')}`);
}

/** Returns CNI_ARGS with that address as its only address. */
export function argumentsWithAddress(text: string | undefined, address: string): string {
  const others = (text ?? '').split(';').filter((pair) => pair !== '' && !pair.startsWith('IP='));
  const lenient = others.some((pair) => pair.startsWith('IgnoreUnknown=')) ? [] : ['IgnoreUnknown=1'];
  return [...lenient, ...others, `IP=${address}`].join(';');
}
