import { isIP } from 'node:net';
import { ProductError } from '../../errors/product-error.ts';
import { defaultClassName } from '../../cpi/disk/classes.ts';
import type { StorageClass } from '../../kubernetes/types/storage.ts';
import type { FoundryRecord } from './foundry-record.ts';
import type { Layout } from './layout-vms.ts';

/** What the operator named, or what an earlier run recorded. */
export interface NamedValues {
  readonly systemDomain: string | undefined;
  readonly ephemeralStorageClass: string | undefined;
  readonly nodeAddress: string | undefined;
}

/**
 * Returns the values of the variables of the cloud-config and of the ops files: named ones, else those that an
 * earlier run recorded for the layout, because disks of a zone and a domain in use cannot change by themselves,
 * else those that the cluster suggests. Throws INVALID_ARGUMENT if a value must be named. A cluster with too few
 * zones, or without a default class, has none of these variables: the checks report that.
 */
export function chooseVariables(
  layout: Layout,
  named: NamedValues,
  recorded: FoundryRecord | undefined,
  cluster: ClusterValues,
): Record<string, string> {
  const before = recorded?.layout === layout ? recorded.variables : {};
  const { ephemeralStorageClass = before['ephemeral_storage_class'] ?? defaultClassName(cluster.classes) } =
    named;
  return {
    ...(layout === 'smallest' ? smallest(named, before, cluster) : highlyAvailable(named, before, cluster)),
    ...(ephemeralStorageClass !== undefined && { ephemeral_storage_class: ephemeralStorageClass }),
  };
}

/** What a cluster suggests. */
export interface ClusterValues {
  /** The address of a node. */
  readonly address: string | undefined;
  readonly zones: readonly string[];
  readonly classes: readonly StorageClass[];
}

type Variables = Readonly<Record<string, string>>;

function smallest(named: NamedValues, before: Variables, cluster: ClusterValues): Variables {
  const address = named.nodeAddress ?? before['node_address'] ?? cluster.address;
  if (address === undefined || isIP(address) === 0) throw noNodeAddress(address);
  const ofAddress = `${address.replaceAll(':', '-')}.sslip.io`;
  const domain = named.systemDomain ?? before['system_domain'] ?? ofAddress;
  return { system_domain: domain, node_address: address };
}

function highlyAvailable(named: NamedValues, before: Variables, cluster: ClusterValues): Variables {
  const domain = named.systemDomain ?? before['system_domain'];
  if (domain === undefined) throw noDomain();
  const zones = 'z3_zone' in before ? zonesIn(before) : cluster.zones.slice(0, 3);
  const pairs = zones.map((zone, index) => [`z${index + 1}_zone`, zone]);
  return { system_domain: domain, ...(Object.fromEntries(pairs) as Variables) };
}

/** Returns the zones that the variables name, in order. */
export const zonesIn = (variables: Readonly<Record<string, string>>): string[] =>
  ['z1_zone', 'z2_zone', 'z3_zone'].flatMap((name) => variables[name] ?? []);

const noDomain = (): ProductError =>
  new ProductError(
    'INVALID_ARGUMENT',
    'The layout highly-available needs --system-domain DOMAIN: a domain that gets a wildcard record for the load balancer',
  );

const noNodeAddress = (address: string | undefined): ProductError =>
  new ProductError(
    'INVALID_ARGUMENT',
    `${address === undefined ? 'No address of a node was found in the cluster' : `'${address}' is not an IP address`}: ` +
      'the Services of the smallest layout get the IP address of a node; set one with --address',
  );
