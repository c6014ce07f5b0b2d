import { isDnsLabel, isLabelValue, isQualifiedName } from '../../kubernetes/names.ts';
import { familyOf } from '../../platform/ip-address.ts';
import type { Field } from '../../platform/field.ts';
import type { Topic } from '../vm/property-topic.ts';
import type { ServicePort } from '../../kubernetes/types/service.ts';

const keys = [
  ...['name', 'type', 'cluster_ip', 'ports', 'selector', 'annotations'],
  ...['load_balancer_ip', 'load_balancer_class', 'external_ips'],
];

/** `services`: the Services by which clients reach a VM or its instance group. */
export const services: Topic<readonly ServiceRequest[]> = {
  keys: ['services'],
  parse: (properties) => {
    const list = properties.get('services');
    const requests = list.list().map(parseService);
    const names = requests.map(({ name }) => name);
    if (new Set(names).size < names.length) throw list.error('has a name twice');
    return requests;
  },
};

function parseService(service: Field): ServiceRequest {
  service.rejectUnknownKeys(keys);
  const clusterIp = service.get('cluster_ip').optional();
  const loadBalancerIp = service.get('load_balancer_ip').optional();
  const request: ServiceRequest = {
    // a DNS-1035 label, because it is part of a host name
    name: service
      .get('name')
      .stringThat(
        (name) => isDnsLabel(name) && /^[a-z]/u.test(name),
        'must be a DNS label that begins with a letter',
      ),
    type: service.get('type').optional()?.oneOf(serviceTypes) ?? 'ClusterIP',
    clusterIp: clusterIp?.value === 'None' ? 'None' : clusterIp && readAddress(clusterIp),
    ports: parsePorts(service.get('ports')),
    selector: parseSelector(service.get('selector')),
    annotations: parseAnnotations(service.get('annotations')),
    loadBalancerIp: loadBalancerIp && readAddress(loadBalancerIp),
    loadBalancerClass: service.get('load_balancer_class').optional()?.nonEmptyString(),
    externalIps: service.get('external_ips').list().map(readAddress),
  };
  checkType(request, service);
  return request;
}

function checkType({ type, clusterIp, ports }: ServiceRequest, service: Field): void {
  const isHeadless = clusterIp === 'None';
  if (isHeadless && type !== 'ClusterIP') throw service.get('cluster_ip').error(`cannot be None for ${type}`);
  if (!isHeadless && ports.length === 0)
    throw service.get('ports').error('must list the ports of the Service');
  const hasNodePort = ports.some(({ nodePort }: PortRequest) => nodePort !== undefined);
  if (hasNodePort && type === 'ClusterIP')
    throw service.get('ports').error('has a node_port, which needs type NodePort or LoadBalancer');
  if (type === 'LoadBalancer') return;
  for (const key of ['load_balancer_ip', 'load_balancer_class'])
    if (service.get(key).isPresent) throw service.get(key).error('needs type LoadBalancer');
}

const readAddress = (field: Field): string =>
  field.stringThat((text) => familyOf(text) !== undefined, 'is not an IP address');

function parseSelector(field: Field): ServiceSelector | undefined {
  const { value } = field;
  if (value === undefined || value === 'group' || value === 'vm') return value;
  if (typeof value === 'string') throw field.error('must be group, vm, or labels');
  const labels = readNamedTexts(field);
  // an empty selector selects no pod, so Kubernetes would send the traffic nowhere
  if (Object.keys(labels).length === 0) throw field.error('must have at least one label');
  for (const [key, text] of Object.entries(labels))
    if (!isLabelValue(text)) throw field.get(key).error('cannot be the value of a label');
  return labels;
}

function parseAnnotations(field: Field): Record<string, string> {
  const annotations = readNamedTexts(field);
  const own = Object.keys(annotations).find((key) => key.startsWith('bosh.cloudfoundry.org/'));
  if (own !== undefined) throw field.get(own).error("is the CPI's own");
  return annotations;
}

/** Reads labels or annotations. */
function readNamedTexts(field: Field): Record<string, string> {
  const entries = field.entries().map(([key, text]) => {
    if (!isQualifiedName(key)) throw text.error('is not the name of a label or an annotation');
    return [key, text.string()] as const;
  });
  return Object.fromEntries(entries);
}

export interface PortRequest {
  readonly name: string | undefined;
  readonly port: number;
  /** Absent: the same as `port`. */
  readonly targetPort: number | undefined;
  readonly nodePort: number | undefined;
  readonly protocol: (typeof protocols)[number];
}

const protocols = ['TCP', 'UDP', 'SCTP'] as const;
const portRange = { min: 1, max: 65_535 };

/** Parses a list of `{name, port, target_port, node_port, protocol}`. Throws INVALID_ARGUMENT. */
export function parsePorts(field: Field): readonly PortRequest[] {
  const ports = field.list().map(parsePort);
  if (ports.length > 1 && ports.some(({ name }) => name === undefined))
    throw field.error('has several ports, so each needs a name');
  for (const [what, values] of [
    ['names', ports.map(({ name }) => name)],
    ['ports', ports.map(({ port, protocol }) => `${port}/${protocol}`)],
    ['node ports', ports.map(({ nodePort }) => nodePort)],
  ] as const) {
    const given = values.filter((value) => value !== undefined);
    if (new Set<unknown>(given).size < given.length) throw field.error(`has ${what} twice`);
  }
  return ports;
}

/** Returns the ports in the form of Kubernetes, which sets defaults for absent fields. */
export const toServicePorts = (ports: readonly PortRequest[]): ServicePort[] =>
  ports.map(({ name, port, targetPort, nodePort, protocol }) => ({
    ...(name !== undefined && { name }),
    protocol,
    port,
    targetPort: targetPort ?? port,
    ...(nodePort !== undefined && { nodePort }),
  }));

function parsePort(port: Field): PortRequest {
  port.rejectUnknownKeys(['name', 'port', 'target_port', 'node_port', 'protocol']);
  return {
    name: port.get('name').optional()?.stringThat(isDnsLabel, 'is not a DNS label'),
    port: port.get('port').integer(portRange),
    targetPort: port.get('target_port').optional()?.integer(portRange),
    nodePort: port.get('node_port').optional()?.integer(portRange),
    protocol: port.get('protocol').optional()?.oneOf(protocols) ?? 'TCP',
  };
}

export const serviceTypes = ['ClusterIP', 'NodePort', 'LoadBalancer'] as const;

/**
 * The pods to which a Service sends traffic: all VMs of the instance group, only this VM (or its successor),
 * or all pods with these labels.
 */
export type ServiceSelector = 'group' | 'vm' | Readonly<Record<string, string>>;

/** A Service that a VM's cloud_properties or a vip network request. */
export interface ServiceRequest {
  readonly name: string;
  readonly type: (typeof serviceTypes)[number];
  /** `None`: headless. Absent: any address. */
  readonly clusterIp: string | undefined;
  readonly ports: readonly PortRequest[];
  /** Absent: the group, if the VM has one. */
  readonly selector: ServiceSelector | undefined;
  readonly annotations: Readonly<Record<string, string>>;
  readonly loadBalancerIp: string | undefined;
  readonly loadBalancerClass: string | undefined;
  readonly externalIps: readonly string[];
}

const vipTypes = ['load_balancer', 'external_ip', 'cluster_ip'] as const;

export interface VipProperties {
  /** The way in which traffic for the address gets to the VM; each way is a Service. */
  readonly via: (typeof vipTypes)[number];
  /** A Service forwards only the ports that it lists. */
  readonly ports: readonly PortRequest[];
}

/** Parses `{via, ports}`; the default of via is load_balancer. Throws INVALID_ARGUMENT. */
export function parseVipProperties(vip: Field): VipProperties {
  vip.rejectUnknownKeys(['via', 'ports']);
  const via = vip.get('via').optional()?.oneOf(vipTypes) ?? 'load_balancer';
  const ports = parsePorts(vip.get('ports'));
  if (ports.length === 0) throw vip.get('ports').error('must list the ports that the address is for');
  return { via, ports };
}
