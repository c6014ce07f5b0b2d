import { isIP } from 'node:net';
import { isSameAddress } from './ip-range.ts';
import type { Manifest } from './manifest.ts';

export interface LostMbusHost {
  /** An IP address. */
  readonly host: string;
  /** The static IPs of all networks of the instance. */
  readonly staticIps: readonly string[];
}

/**
 * Returns the mbus host if it is an IP address that is not one of the instance's static IPs. Returns
 * undefined for names and if a network has no static IP, because then only the cloud knows the address.
 */
export function lostMbusHost({ instanceGroup, cloudProvider }: Manifest): LostMbusHost | undefined {
  const host = new URL(cloudProvider.mbus).hostname.replace(/^\[(.*)\]$/, '$1');
  const { networks } = instanceGroup;
  if (isIP(host) === 0 || networks.some(({ staticIps }) => staticIps.length === 0)) return undefined;
  // The CPI gets only the first static IP of each network.
  const staticIps = networks.flatMap((network) => network.staticIps.slice(0, 1));
  return staticIps.some((ip) => isSameAddress(ip, host)) ? undefined : { host, staticIps };
}
