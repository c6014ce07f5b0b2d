import { isIP, isIPv4 } from 'node:net';
import type { ServiceSpec } from '../../../../src/kubernetes/types/service.ts';
import { invalidValue, unsupportedValue, type Cause } from '../../errors/field-causes.ts';
import { isHeadless } from './service-defaults.ts';

/** Returns the causes for the addresses of a Service, which is one IPv4 address or `None`. */
export function checkClusterAddresses(spec: ServiceSpec): Cause[] {
  const { clusterIP = '', clusterIPs = [] } = spec;
  if (clusterIPs.length > 1) {
    return [
      invalidValue('spec.clusterIPs', clusterIPs, 'may only hold up to 1 values on a single-stack cluster'),
    ];
  }
  if (clusterIPs.length === 1 && clusterIPs[0] !== clusterIP) {
    return [invalidValue('spec.clusterIPs', clusterIPs, 'first value must match `clusterIP`')];
  }
  if (isHeadless(spec)) {
    return spec.type === 'ClusterIP'
      ? []
      : [
          invalidValue(
            'spec.clusterIPs[0]',
            'None',
            `may not be set to 'None' for ${spec.type ?? ''} services`,
          ),
        ];
  }
  if (clusterIP === '' || isIPv4(clusterIP)) return [];
  return [
    invalidValue(
      'spec.clusterIPs[0]',
      clusterIP,
      isIP(clusterIP) === 6
        ? 'IPv6 is not configured on this cluster'
        : 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ),
  ];
}

/** Returns the causes for the IP families: this cluster has IPv4 only. */
export function checkFamilies({ ipFamilies = [], ipFamilyPolicy = '' }: ServiceSpec): Cause[] {
  const policies = ['PreferDualStack', 'RequireDualStack', 'SingleStack'];
  return [
    ...(policies.includes(ipFamilyPolicy)
      ? []
      : [unsupportedValue('spec.ipFamilyPolicy', ipFamilyPolicy, policies)]),
    ...(ipFamilyPolicy === 'RequireDualStack'
      ? [
          invalidValue(
            'spec.ipFamilyPolicy',
            ipFamilyPolicy,
            'this cluster is not configured for dual-stack services',
          ),
        ]
      : []),
    ...ipFamilies.flatMap((family, index) =>
      family === 'IPv4'
        ? []
        : [invalidValue(`spec.ipFamilies[${index}]`, family, 'not configured on this cluster')],
    ),
    ...(ipFamilies.length > 1
      ? [invalidValue('spec.ipFamilies', ipFamilies, 'may only hold one family here')]
      : []),
  ];
}
