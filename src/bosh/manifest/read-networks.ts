import { isIP } from 'node:net';
import type { YamlField } from '../yaml/yaml-field.ts';
import { isSameAddress, parseIpRange } from './ip-range.ts';
import type { GroupNetwork, ManualNetwork, Network, Manifest } from './manifest.ts';

/**
 * Reads `networks` (bosh-cli: deployment/manifest/validator.go). Adds problems to the field's list and leaves
 * out invalid networks.
 */
export function readNetworks(networks: YamlField): readonly Network[] {
  return networks.items().flatMap((field) => readNetwork(field) ?? []);
}

/** Reads `instance_groups[].networks` and checks them against the manifest's networks. */
export function readGroupNetworks(
  field: YamlField,
  networks: readonly Network[],
  known: readonly string[],
): readonly GroupNetwork[] {
  const groupNetworks = field.items().map((item) => readGroupNetwork(item, networks, known));
  if (groupNetworks.length === 0) field.problem('must be a list of at least one network');
  for (const kind of ['dns', 'gateway'] as const) {
    const count = groupNetworks.filter(({ defaults }) => defaults.includes(kind)).length;
    if (groupNetworks.length > 1 && count === 0)
      field.problem(`with several networks, one must be the default for '${kind}'`);
    if (count > 1) field.problem(`only one network can be the default for '${kind}'`);
  }
  return groupNetworks;
}

function readNetwork(field: YamlField): Network | undefined {
  const name = field.get('name').requiredText();
  const type = field.get('type').requiredText();
  const cloudProperties = field.get('cloud_properties').properties();
  switch (type) {
    case 'manual':
      return readManualNetwork(field, name);
    case 'dynamic':
      return { type, name, dns: readDns(field.get('dns')), cloudProperties };
    case 'vip':
      return { type, name, cloudProperties };
    case '':
      return undefined;
    default:
      field.get('type').problem(`must be 'manual', 'dynamic' or 'vip', found '${type}'`);
      return undefined;
  }
}

function readManualNetwork(field: YamlField, name: string): ManualNetwork | undefined {
  const [subnet, ...others] = field.get('subnets').items();
  if (subnet === undefined || others.length > 0) {
    field.get('subnets').problem('must be a list of exactly one subnet');
    return undefined;
  }
  const rangeText = subnet.get('range').requiredText();
  const range = parseIpRange(rangeText);
  if (rangeText !== '' && range === undefined)
    subnet.get('range').problem(`'${rangeText}' is not an IP range like 10.0.0.0/24`);
  const gateway = readGateway(subnet.get('gateway'), range);
  return {
    type: 'manual',
    name,
    range: rangeText,
    gateway,
    netmask: range?.netmask ?? '',
    dns: readDns(subnet.get('dns')),
    cloudProperties: subnet.get('cloud_properties').properties(),
  };
}

function readGateway(field: YamlField, range: ReturnType<typeof parseIpRange>): string {
  const gateway = field.requiredText();
  if (gateway === '') return gateway;
  if (isIP(gateway) === 0) field.problem(`'${gateway}' is not an IP address`);
  else if (range !== undefined) {
    if (!range.contains(gateway)) field.problem(`'${gateway}' is not in the range of the subnet`);
    else if (isSameAddress(gateway, range.first)) field.problem(`'${gateway}' is the network's own address`);
    else if (isSameAddress(gateway, range.last)) field.problem(`'${gateway}' is the broadcast address`);
  }
  return gateway;
}

function readDns(field: YamlField): readonly string[] {
  return field.items().map((item) => {
    const address = item.requiredText();
    if (address !== '' && isIP(address) === 0) item.problem(`'${address}' is not an IP address`);
    return address;
  });
}

function readGroupNetwork(
  field: YamlField,
  networks: readonly Network[],
  known: readonly string[],
): GroupNetwork {
  const name = field.get('name').requiredText();
  if (name !== '' && !known.includes(name)) field.get('name').problem(`there is no network '${name}'`);
  const network = networks.find((one) => one.name === name);
  const staticIps = field
    .get('static_ips')
    .items()
    .map((item) => {
      const ip = item.requiredText();
      if (ip !== '' && isIP(ip) === 0) item.problem(`'${ip}' is not an IP address`);
      else if (network?.type === 'manual') {
        const range = parseIpRange(network.range);
        if (range !== undefined && !range.contains(ip))
          item.problem(`'${ip}' is not in the range ${network.range} of network '${name}'`);
      }
      return ip;
    });
  const defaults = field
    .get('default')
    .items()
    .flatMap((item) => {
      const kind = item.requiredText();
      if (kind === 'dns' || kind === 'gateway') return [kind] as const;
      item.problem(`must be 'dns' or 'gateway'`);
      return [];
    });
  return { at: field.position, name, staticIps, defaults };
}

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
