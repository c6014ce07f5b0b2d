import { isIP, isIPv4 } from 'node:net';
import type { Service, ServiceSpec, ServicePort } from '../../../../src/kubernetes/types/service.ts';
import {
  forbiddenField,
  invalidValue,
  unsupported,
  unsupportedValue,
  type Cause,
  duplicate,
  required,
} from '../../errors/field-causes.ts';
import { jsonEqual } from '../../schema/json.ts';
import type { StoredObject } from '../../store/stored-object.ts';
import type { MutableObject } from '../kind.ts';
import { checkLabels, checkName, checkQualifiedName } from '../checks.ts';
import { asService, isHeadless } from './service-schema.ts';

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

/** Returns the causes for the addresses of a Service, which is one IPv4 address or `None`. */
function checkClusterAddresses(spec: ServiceSpec): Cause[] {
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
function checkFamilies({ ipFamilies = [], ipFamilyPolicy = '' }: ServiceSpec): Cause[] {
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

const protocols = ['SCTP', 'TCP', 'UDP'];

/** Returns the causes for the ports of a Service: for each port, and for ports that conflict. */
export function checkPorts(spec: ServiceSpec): Cause[] {
  const { ports = [] } = spec;
  if (ports.length === 0) return isHeadless(spec) ? [] : [required('spec.ports')];
  return [
    ...ports.flatMap((port, index) => checkPort(spec, port, index)),
    ...repeated(ports, ({ name }) => name, 'name'),
    ...repeated(ports, ({ port, protocol }) => `${port}/${protocol ?? ''}`, ''),
    ...repeated(ports, ({ nodePort }) => nodePort?.toString(), 'nodePort'),
  ];
}

function checkPort(spec: ServiceSpec, port: ServicePort, index: number): Cause[] {
  const field = `spec.ports[${index}]`;
  const { targetPort = 0 } = port;
  return [
    ...checkNameOf(spec, port, `${field}.name`),
    ...checkNumber(`${field}.port`, port.port),
    ...checkProtocol(spec, port.protocol ?? '', `${field}.protocol`),
    ...(typeof targetPort === 'number'
      ? checkNumber(`${field}.targetPort`, targetPort)
      : checkPortName(`${field}.targetPort`, targetPort)),
    ...checkNodePort(spec, port, `${field}.nodePort`),
    ...(port.appProtocol === undefined ? [] : checkQualifiedName(`${field}.appProtocol`, port.appProtocol)),
  ];
}

function checkNameOf(spec: ServiceSpec, { name = '' }: ServicePort, field: string): Cause[] {
  if (name !== '') return checkName(field, name, 'label');
  return (spec.ports ?? []).length > 1 ? [required(field)] : [];
}

/** A headless Service has no proxy, so its ports are only published and may have any protocol. */
function checkProtocol(spec: ServiceSpec, protocol: string, field: string): Cause[] {
  if (!protocols.includes(protocol)) return [unsupportedValue(field, protocol, protocols)];
  return protocol === 'TCP' || isHeadless(spec)
    ? []
    : [unsupported(field, `${protocol}: its Services are TCP proxies`)];
}

function checkNodePort(
  { type = 'ClusterIP' }: ServiceSpec,
  { nodePort }: ServicePort,
  field: string,
): Cause[] {
  return nodePort === undefined || type === 'NodePort' || type === 'LoadBalancer'
    ? []
    : [forbiddenField(field, `may not be used when \`type\` is '${type}'`)];
}

/** A missing port is 0, as in a real server. */
function checkNumber(field: string, port = 0): Cause[] {
  return port >= 1 && port <= 65_535
    ? []
    : [invalidValue(field, port, 'must be between 1 and 65535, inclusive')];
}

/**
 * Checks for IANA_SVC_NAME, the form of container port names (apimachinery pkg/util/validation
 * IsValidPortName).
 */
function checkPortName(field: string, name: string): Cause[] {
  const texts = [
    name.length > 15 ? 'must be no more than 15 characters' : undefined,
    /^[-a-z0-9]+$/u.test(name)
      ? undefined
      : 'must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
    /[a-z]/u.test(name) ? undefined : 'must contain at least one letter (a-z)',
    name.includes('--') ? 'must not contain consecutive hyphens' : undefined,
    name.startsWith('-') || name.endsWith('-') ? 'must not begin or end with a hyphen' : undefined,
  ];
  return texts.filter((detail) => detail !== undefined).map((detail) => invalidValue(field, name, detail));
}

function repeated(
  ports: readonly ServicePort[],
  keyOf: (port: ServicePort) => string | undefined,
  member: string,
): Cause[] {
  const seen = new Set<string>();
  return ports.flatMap((port, index) => {
    const key = keyOf(port);
    if (key === undefined) return [];
    const isNew = !seen.has(key);
    seen.add(key);
    return isNew ? [] : [duplicate(`spec.ports[${index}]${member === '' ? '' : `.${member}`}`, key)];
  });
}
