import { isSameAddress, parseIpRange } from './ip-range.ts';
import type { GroupNetwork, Manifest, ManualNetwork } from './manifest.ts';
import { isIP } from 'node:net';

/**
 * Returns probable mistakes, each with file, line, column and key. They are not errors: create-env of the
 * bosh CLI accepts these manifests (deployment/manifest/validator.go), and they work if a proxy has the
 * address or if the cloud ignores the gateway.
 */
export function manifestWarnings(manifest: Manifest): readonly string[] {
  const { instanceGroup, networks } = manifest;
  const manual = instanceGroup.networks.flatMap((used) => {
    const network = networks.find(({ name }) => name === used.name);
    return network?.type === 'manual' ? [{ used, network }] : [];
  });
  return [
    ...manifest.resourcePool.unusedEnv,
    ...manual.flatMap(({ used, network }) => gatewayWarnings(used, network)),
    ...plainMbusWarnings(manifest),
    ...mbusWarnings(
      manifest,
      manual.map(({ network }) => network),
    ),
  ];
}

function gatewayWarnings({ at, staticIps }: GroupNetwork, { name, gateway }: ManualNetwork): string[] {
  return staticIps
    .filter((ip) => isSameAddress(ip, gateway))
    .map(
      (ip) =>
        `${at}.static_ips: '${ip}' is the gateway of network '${name}': a VM with this address cannot use it as its gateway, and a director rejects it`,
    );
}

/** Warns about http to this machine. Any other host is an error (read-manifest.ts). */
function plainMbusWarnings({ cloudProvider: { mbus, mbusAt } }: Manifest): string[] {
  if (new URL(mbus).protocol === 'https:') return [];
  return [
    `${mbusAt}: http sends the user and password in clear text, although only on this machine; our agent accepts only https`,
  ];
}

function mbusWarnings(manifest: Manifest, manual: readonly ManualNetwork[]): string[] {
  const lost = lostMbusHost(manifest);
  const own = lost && manual.find(({ range }) => parseIpRange(range)?.contains(lost.host) === true);
  if (lost === undefined || own === undefined) return [];
  const ips = lost.staticIps.join(', ');
  return [
    `${manifest.cloudProvider.mbusAt}: '${lost.host}' is in the range of the instance's network '${own.name}', and the instance has ` +
      `${ips}: its agent cannot be reached unless something at that address forwards to it`,
  ];
}

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
