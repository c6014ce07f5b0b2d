import { isIP } from 'node:net';
import { ProductError } from '../../errors/product-error.ts';
import type { DirectorFacts } from '../cluster-facts.ts';
import { nodeAddress } from '../node-address.ts';
import type { NodeRoom } from '../node-room.ts';
import { defaultClassName } from '../../cpi/disk/classes.ts';
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
  { facts, rooms }: { readonly facts: DirectorFacts; readonly rooms: readonly NodeRoom[] },
): Record<string, string> {
  const before = recorded?.layout === layout ? recorded.variables : {};
  const ephemeralClass =
    named.ephemeralStorageClass ??
    before['ephemeral_storage_class'] ??
    defaultClassName(facts.classes ?? []) ??
    '';
  if (layout === 'highly-available') {
    const domain = named.systemDomain ?? before['system_domain'];
    if (domain === undefined) throw noDomain();
    const zones = 'z3_zone' in before ? zonesIn(before) : zonesOf(rooms).slice(0, 3);
    return {
      system_domain: domain,
      ...Object.fromEntries(zones.map((zone, index) => [`z${index + 1}_zone`, zone])),
      ephemeral_storage_class: ephemeralClass,
    };
  }
  const address =
    named.nodeAddress ?? before['node_address'] ?? nodeAddress(facts, ['InternalIP', 'ExternalIP']);
  if (address === undefined || isIP(address) === 0) throw noNodeAddress(address);
  const ofAddress = `${address.replaceAll(':', '-')}.sslip.io`;
  return {
    system_domain: named.systemDomain ?? before['system_domain'] ?? ofAddress,
    node_address: address,
    ephemeral_storage_class: ephemeralClass,
  };
}

/** Returns the zones that the variables name, in order. */
export const zonesIn = (variables: Readonly<Record<string, string>>): string[] =>
  ['z1_zone', 'z2_zone', 'z3_zone'].flatMap((name) => variables[name] ?? []);

const zonesOf = (rooms: readonly NodeRoom[]): string[] =>
  [...new Set(rooms.flatMap(({ zone }) => zone ?? []))].toSorted();

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
