import { isIP } from 'node:net';
import { isSameAddress } from './ip-range.ts';
import type { Manifest } from './manifest.ts';

export interface LostMbusHost {
  /** An IP address. */
  readonly host: string;
  /** Of all networks of the instance. */
  readonly staticIps: readonly string[];
}

/**
 * The host of the mbus where it is an address that the instance will not have itself. Undefined where it will, where only the
 * cloud knows that (a network without a static IP), and where the host is a name.
 */
export function lostMbusHost({ instanceGroup, cloudProvider }: Manifest): LostMbusHost | undefined {
  const host = new URL(cloudProvider.mbus).hostname.replace(/^\[(.*)\]$/, '$1');
  const { networks } = instanceGroup;
  if (isIP(host) === 0 || networks.some(({ staticIps }) => staticIps.length === 0)) return undefined;
  // the CPI gets the first one of each network
  const staticIps = networks.flatMap((network) => network.staticIps.slice(0, 1));
  return staticIps.some((ip) => isSameAddress(ip, host)) ? undefined : { host, staticIps };
}
