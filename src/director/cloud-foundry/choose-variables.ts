import { parseIpRange } from '../../bosh/manifest/ip-range.ts';
import { ProductError } from '../../errors/product-error.ts';
import { defaultClassName } from '../../cpi/disk/classes.ts';
import type { StorageClass } from '../../kubernetes/types/storage.ts';
import { canonicalAddress, familyOf } from '../../platform/ip-address.ts';
import type { FoundryRecord } from './foundry-record.ts';
import type { Layout } from './layout-vms.ts';
import { publicDomainOf } from './system-domain.ts';

/** The values that the operator named as options. */
export interface NamedValues {
  readonly systemDomain: string | undefined;
  readonly ephemeralStorageClass: string | undefined;
  readonly nodeAddress: string | undefined;
}

/** The record of an earlier run. */
export interface EarlierRun extends Pick<FoundryRecord, 'layout' | 'variables'> {
  /** A deployment with these values has begun. */
  readonly isDeployed: boolean;
}

/**
 * Returns the values of the variables of the cloud-config and of the ops files: named ones, else those that
 * an earlier run recorded for the layout, else those that the cluster suggests. Recorded values that the
 * cluster suggested then, its zones and the domain of the node's address, are kept only if they are deployed:
 * disks of a zone and a domain in use cannot change by themselves. Throws INVALID_ARGUMENT if a value must be
 * named. A cluster with too few zones, or without a default class, has none of these variables: the checks
 * report that.
 */
export function chooseVariables(
  layout: Layout,
  named: NamedValues,
  earlier: EarlierRun | undefined,
  cluster: ClusterValues,
): Record<string, string> {
  const before: Before = {
    variables: earlier?.layout === layout ? earlier.variables : {},
    isDeployed: earlier?.isDeployed === true,
  };
  const { ephemeral_storage_class: recordedClass = defaultClassName(cluster.classes) } = before.variables;
  const { ephemeralStorageClass = recordedClass } = named;
  return {
    ...(layout === 'smallest' ? smallest(named, before, cluster) : highlyAvailable(named, before, cluster)),
    ...(ephemeralStorageClass !== undefined && { ephemeral_storage_class: ephemeralStorageClass }),
  };
}

/** The values that a cluster suggests. */
export interface ClusterValues {
  /** The address of a node. */
  readonly address: string | undefined;
  /** The best ones first. Undefined: the user may not list nodes. */
  readonly zones: readonly string[] | undefined;
  readonly classes: readonly StorageClass[];
}

type Variables = Readonly<Record<string, string>>;

type Before = Pick<EarlierRun, 'variables' | 'isDeployed'>;

function smallest(named: NamedValues, before: Before, cluster: ClusterValues): Variables {
  const { node_address: recordedAddress, system_domain: recordedDomain } = before.variables;
  const found = named.nodeAddress ?? recordedAddress ?? cluster.address;
  if (found === undefined)
    throw cluster.zones === undefined ? noNodes() : wrongAddress('No ready node has an IP address');
  const address = serviceAddress(found);
  const isSuggested = recordedAddress !== undefined && recordedDomain === publicDomainOf(recordedAddress);
  const kept = before.isDeployed || !isSuggested ? recordedDomain : undefined;
  return { system_domain: named.systemDomain ?? kept ?? publicDomainOf(address), node_address: address };
}

function highlyAvailable(
  named: NamedValues,
  { variables, isDeployed }: Before,
  cluster: ClusterValues,
): Variables {
  const domain = named.systemDomain ?? variables['system_domain'];
  if (domain === undefined) throw noDomain();
  const found = isDeployed && 'z3_zone' in variables ? undefined : cluster.zones;
  const zones = found?.slice(0, 3) ?? zonesIn(variables);
  const pairs = zones.map((zone, index) => [`z${index + 1}_zone`, zone]);
  return { system_domain: domain, ...(Object.fromEntries(pairs) as Variables) };
}

/** Addresses at which other machines do not reach a node. Kubernetes rejects most of them at a Service. */
const unusable = [
  ...['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/4', '255.255.255.255/32'],
  ...['::/127', 'fe80::/10', 'ff00::/8'],
];

/** Returns the canonical form of an address that a Service can have. Throws INVALID_ARGUMENT. */
function serviceAddress(text: string): string {
  if (familyOf(text) === undefined) throw wrongAddress(`'${text}' is not an IP address`);
  if (unusable.some((range) => parseIpRange(range)?.contains(text)))
    throw wrongAddress(`'${text}' is not an address at which other machines reach a node`);
  return canonicalAddress(text);
}

/** Returns the zones that the variables name, in order. */
export const zonesIn = (variables: Readonly<Record<string, string>>): string[] =>
  ['z1_zone', 'z2_zone', 'z3_zone'].flatMap((name) => variables[name] ?? []);

const noDomain = (): ProductError =>
  new ProductError(
    'INVALID_ARGUMENT',
    'The layout highly-available needs --system-domain DOMAIN: a domain that gets a wildcard record for the load balancer',
  );

const purpose = 'the Services of the smallest layout get the IP address of a node';

const wrongAddress = (problem: string): ProductError =>
  new ProductError('INVALID_ARGUMENT', `${problem}: ${purpose}; name one with --address`);

const noNodes = (): ProductError =>
  new ProductError(
    'INVALID_ARGUMENT',
    `You may not list nodes, and ${purpose}: name one with --address or, with --way loadbalancer, whose --address is that of ` +
      'the load balancer, use a kubeconfig that may list nodes',
  );
