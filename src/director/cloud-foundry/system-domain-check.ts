import { isSameAddress } from '../../bosh/manifest/ip-range.ts';
import type { Check } from '../preflight-checks.ts';
import { isPublicDomain, publicDomainOf, type ResolvedName } from './system-domain.ts';

export interface DomainSpec {
  /** Without node_address the domain must lead to a load balancer, whose address is not known yet. */
  readonly variables: Readonly<Record<string, string>>;
  readonly namespace: string;
}

/**
 * Returns whether the system domain leads to Cloud Foundry from this machine. One that does not is no
 * hindrance: VMs and apps resolve it by bosh-dns.
 */
export function systemDomainCheck(spec: DomainSpec, names: readonly ResolvedName[]): Check {
  const name = 'System domain';
  const { system_domain: domain = '', node_address: address } = spec.variables;
  const warn = (problem: string): Check => ({
    ...{ name, result: 'missing' },
    detail: `${problem}, so cf and browsers reach Cloud Foundry only through the tunnel: ${domainRemedy(spec)}`,
  });
  const failed = names.find(({ addresses }) => addresses.length === 0);
  if (failed !== undefined) return warn(`${failed.name} does not resolve here (${failed.error})`);
  const [api] = names;
  const found = api?.addresses.join(' and ') ?? '';
  const isElsewhere = ({ addresses }: ResolvedName): boolean =>
    address !== undefined && !addresses.some((each) => isSameAddress(each, address));
  if (names.some(isElsewhere)) return warn(`*.${domain} resolves to ${found}, and not to ${address}`);
  const later = address === undefined ? ', which must be the address of the Service cf-router' : '';
  return { name, result: 'ok', detail: `*.${domain} resolves to ${found}${later}` };
}

function domainRemedy({ variables, namespace }: DomainSpec): string {
  const { system_domain: domain = '', node_address: address } = variables;
  const example = address === undefined ? domain : publicDomainOf(address);
  if (isPublicDomain(domain) && domain === example)
    return (
      'the resolver of this machine does not reach the internet or drops private addresses; use another one, or name a domain ' +
      'of your own with --system-domain'
    );
  const target =
    address ?? `the address that kubectl get service cf-router -n ${namespace} shows after the deployment`;
  return [
    ...(isPublicDomain(domain) ? [] : [`make a wildcard record *.${domain} for ${target}`]),
    ...(address === undefined ? [] : [`name another domain with --system-domain, such as ${example}`]),
  ].join(', or ');
}
