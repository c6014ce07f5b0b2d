import { CniError, cniErrorCode } from '../cni-error.ts';
import { isObject } from '../json.ts';
import type { NetworkConfig } from '../plugin/network-config.ts';

/**
 * How a delegate is asked for an address (containernetworking/cni CONVENTIONS.md). Never two ways at once: host-local
 * adds up what it finds.
 */
const requestWays = ['runtimeConfig.ips', 'args.cni.ips', 'CNI_ARGS'] as const;
export type IpRequestMethod = (typeof requestWays)[number];

/** What `request` of the configuration says, else what the delegate's IPAM plugin understands. Throws CniError 7. */
export function requestWay({ all: { request }, delegate: { ipam } }: NetworkConfig): IpRequestMethod {
  if (request === undefined)
    return isObject(ipam) && ipam['type'] === 'calico-ipam' ? 'CNI_ARGS' : 'runtimeConfig.ips';
  const way = requestWays.find((known) => known === request);
  if (way !== undefined) return way;
  throw new CniError(cniErrorCode.invalidConfig, `'request' is none of ${requestWays.join(', ')}`);
}

/** CNI_ARGS with that address in it and no other. */
export function argumentsWithAddress(text: string | undefined, address: string): string {
  const others = (text ?? '').split(';').filter((pair) => pair !== '' && !pair.startsWith('IP='));
  const lenient = others.some((pair) => pair.startsWith('IgnoreUnknown=')) ? [] : ['IgnoreUnknown=1'];
  return [...lenient, ...others, `IP=${address}`].join(';');
}
