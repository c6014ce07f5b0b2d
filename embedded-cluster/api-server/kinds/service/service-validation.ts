import { isIP, isIPv4 } from 'node:net';
import type { Service, ServiceSpec } from '../../../../src/kubernetes/types/service.ts';
import {
  forbiddenField,
  invalidValue,
  unsupported,
  unsupportedValue,
  type Cause,
} from '../../errors/field-causes.ts';
import { jsonEqual } from '../../schema/json.ts';
import type { StoredObject } from '../../store/stored-object.ts';
import type { MutableObject } from '../kind.ts';
import { checkLabels } from '../names.ts';
import { checkClusterAddresses, checkFamilies } from './service-address-validation.ts';
import { asService } from './service-defaults.ts';
import { checkPorts } from './service-port-validation.ts';

const types = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'];

/**
 * Returns the causes for an invalid Service (kubernetes pkg/apis/core/validation ValidateService), and for
 * features that no proxy here supports.
 */
export function validateService(draft: MutableObject): Cause[] {
  const { spec } = asService(draft);
  return [
    ...checkType(spec),
    ...checkLabels('spec.selector', spec.selector),
    ...checkPorts(spec),
    ...checkClusterAddresses(spec),
    ...checkFamilies(spec),
    ...checkLoadBalancer(spec),
    ...checkPolicies(spec),
    ...(spec.externalIPs === undefined
      ? []
      : [
          unsupported(
            'spec.externalIPs',
            'external addresses: its pods and Services are on loopback addresses',
          ),
        ]),
  ];
}

function checkType(spec: ServiceSpec & { externalName?: string }): Cause[] {
  const { type = '' } = spec;
  if (type === 'ExternalName') return [unsupported('spec.type', 'ExternalName Services: it has no DNS')];
  return [
    ...(types.includes(type) ? [] : [unsupportedValue('spec.type', type, types)]),
    ...(spec.externalName === undefined
      ? []
      : [forbiddenField('spec.externalName', 'may only be used when `type` is "ExternalName"')]),
  ];
}

/** These fields are for a load balancer. There is none here, so such a Service stays pending as a whole. */
function checkLoadBalancer(spec: ServiceSpec): Cause[] {
  const { loadBalancerIP, loadBalancerSourceRanges = [] } = spec;
  const fields = [
    'loadBalancerClass',
    'loadBalancerSourceRanges',
    'allocateLoadBalancerNodePorts',
    'loadBalancerIP',
  ] as const;
  if (spec.type !== 'LoadBalancer') {
    return fields
      .filter((field) => spec[field] !== undefined)
      .map((field) => forbiddenField(`spec.${field}`, "may only be used when `type` is 'LoadBalancer'"));
  }
  return [
    ...(loadBalancerIP === undefined || isIP(loadBalancerIP) !== 0
      ? []
      : [invalidValue('spec.loadBalancerIP', loadBalancerIP, 'must be a valid IP address')]),
    ...loadBalancerSourceRanges.flatMap((range, index) => {
      const [address = '', bits = ''] = range.split('/');
      const ok = isIP(address) !== 0 && /^\d+$/u.test(bits) && Number(bits) <= (isIPv4(address) ? 32 : 128);
      return ok
        ? []
        : [invalidValue(`spec.LoadBalancerSourceRanges[${index}]`, range, 'must be a valid CIDR value')];
    }),
  ];
}

function checkPolicies(spec: ServiceSpec): Cause[] {
  const { externalTrafficPolicy, internalTrafficPolicy, sessionAffinity = '' } = spec;
  const policies = [
    ['spec.externalTrafficPolicy', externalTrafficPolicy],
    ['spec.internalTrafficPolicy', internalTrafficPolicy],
  ] as const;
  return [
    ...policies.flatMap(([field, value]) => {
      if (value === undefined || value === 'Cluster') return [];
      return value === 'Local'
        ? [unsupported(field, 'traffic that stays on the node or keeps its source address: it proxies')]
        : [unsupportedValue(field, value, ['Cluster', 'Local'])];
    }),
    ...(externalTrafficPolicy !== undefined && spec.type === 'ClusterIP'
      ? [
          invalidValue(
            'spec.externalTrafficPolicy',
            externalTrafficPolicy,
            'may only be set for externally-accessible services',
          ),
        ]
      : []),
    ...(sessionAffinity === 'None'
      ? []
      : sessionAffinity === 'ClientIP'
        ? [unsupported('spec.sessionAffinity', 'session affinity')]
        : [unsupportedValue('spec.sessionAffinity', sessionAffinity, ['ClientIP', 'None'])]),
  ];
}

/** Returns the causes for changes that an update may not make (ValidateServiceUpdate). */
export function validateServiceUpdate(draft: MutableObject, current: StoredObject): Cause[] {
  const { spec } = asService(draft);
  const before = (current as unknown as Service).spec;
  return [
    ...(jsonEqual(spec.clusterIPs, before.clusterIPs)
      ? []
      : [invalidValue('spec.clusterIPs[0]', spec.clusterIPs ?? null, 'may not change once set')]),
    ...(spec.type === 'LoadBalancer' &&
    before.type === 'LoadBalancer' &&
    spec.loadBalancerClass !== before.loadBalancerClass
      ? [invalidValue('spec.loadBalancerClass', spec.loadBalancerClass ?? null, 'may not change once set')]
      : []),
  ];
}
