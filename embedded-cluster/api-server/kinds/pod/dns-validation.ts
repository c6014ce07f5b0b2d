import { familyOf } from '../../../../src/platform/ip-address.ts';
import type { PodSpec } from '../../../../src/kubernetes/types/pod.ts';
import { invalidValue, unsupported, required, type Cause } from '../../errors/field-causes.ts';
import { checkName } from '../names.ts';
import { checkEnum } from './one-of.ts';

const policies = ['ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None'];
const mostServers = 3;
const mostSearches = 32;

/**
 * Returns the causes for dnsPolicy and dnsConfig (pkg/apis/core/validation/validation.go,
 * validatePodDNSConfig). The embedded node has no DNS to add to.
 */
export function checkDns(at: string, { dnsPolicy, dnsConfig }: PodSpec): Cause[] {
  const field = `${at}.dnsConfig`;
  const servers = dnsConfig?.nameservers ?? [];
  const searches = dnsConfig?.searches ?? [];
  return [
    ...checkEnum(`${at}.dnsPolicy`, dnsPolicy, policies),
    ...(dnsPolicy === 'None' && servers.length === 0
      ? [
          required(
            `${field}.nameservers`,
            'must provide at least one DNS nameserver when `dnsPolicy` is None',
          ),
        ]
      : []),
    ...(servers.length > mostServers
      ? [invalidValue(`${field}.nameservers`, servers, `must not have more than ${mostServers} nameservers`)]
      : []),
    ...servers.flatMap((server, index) =>
      familyOf(server) === undefined
        ? [
            invalidValue(
              `${field}.nameservers[${index}]`,
              server,
              'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
            ),
          ]
        : [],
    ),
    ...(searches.length > mostSearches
      ? [invalidValue(`${field}.searches`, searches, `must not have more than ${mostSearches} search paths`)]
      : []),
    ...searches.flatMap((domain, index) =>
      checkName(`${field}.searches[${index}]`, domain.replace(/\.$/u, ''), 'subdomain'),
    ),
    ...(dnsConfig?.options ?? []).flatMap(({ name = '' }, index) =>
      name === '' ? [required(`${field}.options[${index}]`, 'must not be empty')] : [],
    ),
    ...(dnsConfig !== undefined && dnsPolicy !== 'None'
      ? [unsupported(field, 'name servers beside those of the machine: set dnsPolicy to None')]
      : []),
  ];
}
