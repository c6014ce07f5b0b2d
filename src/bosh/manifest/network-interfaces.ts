import type { GroupNetwork, Manifest, Network } from './manifest.ts';

/** A network in the arguments of create_vm: type, IP, gateway, netmask, DNS, default and cloud_properties. */
export type NetworkInterface = Readonly<Record<string, unknown>>;

/**
 * Returns the networks of the manifest's instance group by name, in the form for create_vm (bosh-cli:
 * deployment/manifest/manifest.go).
 */
export function networkInterfaces(manifest: Manifest): Readonly<Record<string, NetworkInterface>> {
  const { networks } = manifest.instanceGroup;
  const only = networks.length === 1;
  const named = networks.map((groupNetwork) => {
    const network = manifest.networks.find(({ name }) => name === groupNetwork.name);
    if (network === undefined) throw new Error(`a checked manifest has no network '${groupNetwork.name}'`);
    return [groupNetwork.name, networkInterface(network, groupNetwork, only)] as const;
  });
  return Object.fromEntries(named);
}

function networkInterface(
  network: Network,
  { staticIps, defaults }: GroupNetwork,
  only: boolean,
): NetworkInterface {
  const [ip] = staticIps;
  const chosen = only ? ['dns', 'gateway'] : defaults;
  return {
    type: network.type,
    ...addressing(network),
    cloud_properties: network.cloudProperties,
    ...(ip === undefined ? {} : { ip }),
    ...(chosen.length === 0 ? {} : { default: chosen }),
  };
}

function addressing(network: Network): NetworkInterface {
  switch (network.type) {
    case 'manual': {
      const { gateway, netmask, dns } = network;
      return dns.length === 0 ? { gateway, netmask } : { gateway, netmask, dns };
    }
    case 'dynamic':
      return network.dns.length === 0 ? {} : { dns: network.dns };
    case 'vip':
      return {};
  }
}
