import { isDnsLabel, isLabelValue, isQualifiedName } from '../../kubernetes/names.ts';
import { familyOf } from '../../platform/ip-address.ts';
import {
  type Json,
  type Location,
  child,
  optionalStringAt,
  recordAt,
  rejectUnknownKeys,
  stringAt,
  stringsAt,
  invalidValue,
  positiveIntegerAt,
} from '../input.ts';
import type { Topic } from '../vm/property-topic.ts';
import type { ServicePort } from '../../kubernetes/types/service.ts';

const keys = [
  ...['name', 'type', 'cluster_ip', 'ports', 'selector', 'annotations'],
  ...['load_balancer_ip', 'load_balancer_class', 'external_ips'],
];

/** `services`: the Services by which clients reach a VM or its instance group. */
export const services: Topic<readonly ServiceRequest[]> = {
  keys: ['services'],
  parse: (properties, place) => {
    const value = properties['services'] ?? [];
    const list = child(place, 'services');
    if (!Array.isArray(value)) throw invalidValue(list, 'has to be a list');
    const requests = value.map((item: unknown, index) =>
      serviceAt(recordAt(item, child(list, index)), child(list, index)),
    );
    const names = requests.map(({ name }) => name);
    if (new Set(names).size < names.length) throw invalidValue(list, 'has a name twice');
    return requests;
  },
};

function serviceAt(given: Json, place: Location): ServiceRequest {
  rejectUnknownKeys(given, keys, place);
  const type = serviceTypes.find((known) => known === (given['type'] ?? 'ClusterIP'));
  if (type === undefined)
    throw invalidValue(child(place, 'type'), `has to be one of ${serviceTypes.join(', ')}`);
  const request: ServiceRequest = {
    name: serviceNameAt(given['name'], child(place, 'name')),
    type,
    clusterIp: clusterIpAt(given['cluster_ip'], child(place, 'cluster_ip')),
    ports: parsePorts(given['ports'], child(place, 'ports')),
    selector: selectorAt(given['selector'], child(place, 'selector')),
    annotations: annotationsAt(given['annotations'], child(place, 'annotations')),
    loadBalancerIp: addressAt(given['load_balancer_ip'], child(place, 'load_balancer_ip')),
    loadBalancerClass: optionalStringAt(given['load_balancer_class'], child(place, 'load_balancer_class')),
    externalIps: stringsAt(given['external_ips'], child(place, 'external_ips')).map(
      (text, index) => addressAt(text, child(child(place, 'external_ips'), index)) ?? '',
    ),
  };
  checkType(request, place);
  return request;
}

/**
 * Returns the name of a Service: a DNS-1035 label, because it is part of a host name; it begins with a
 * letter.
 */
function serviceNameAt(value: unknown, place: Location): string {
  const name = stringAt(value, place);
  if (!isDnsLabel(name) || !/^[a-z]/u.test(name))
    throw invalidValue(place, 'has to be a DNS label that begins with a letter');
  return name;
}

function checkType({ type, clusterIp, ports, ...request }: ServiceRequest, place: Location): void {
  const isHeadless = clusterIp === 'None';
  if (isHeadless && type !== 'ClusterIP')
    throw invalidValue(child(place, 'cluster_ip'), `cannot be None for ${type}`);
  if (!isHeadless && ports.length === 0)
    throw invalidValue(child(place, 'ports'), 'has to list the ports of the Service');
  const hasNodePort = ports.some(({ nodePort }: PortRequest) => nodePort !== undefined);
  if (hasNodePort && type === 'ClusterIP')
    throw invalidValue(child(place, 'ports'), 'has a node_port, which needs type NodePort or LoadBalancer');
  if (type === 'LoadBalancer') return;
  if (request.loadBalancerIp !== undefined)
    throw invalidValue(child(place, 'load_balancer_ip'), 'needs type LoadBalancer');
  if (request.loadBalancerClass !== undefined)
    throw invalidValue(child(place, 'load_balancer_class'), 'needs type LoadBalancer');
}

function clusterIpAt(value: unknown, place: Location): string | undefined {
  return value === 'None' ? 'None' : addressAt(value, place);
}

function addressAt(value: unknown, place: Location): string | undefined {
  const text = optionalStringAt(value, place);
  if (text !== undefined && familyOf(text) === undefined) throw invalidValue(place, 'is not an IP address');
  return text;
}

function selectorAt(value: unknown, place: Location): ServiceSelector | undefined {
  if (value === undefined || value === null) return undefined;
  if (value === 'group' || value === 'vm') return value;
  if (typeof value === 'string') throw invalidValue(place, 'has to be group, vm, or labels');
  const labels = textsAt(value, place);
  // an empty selector selects no pod, so Kubernetes would send the traffic nowhere
  if (Object.keys(labels).length === 0) throw invalidValue(place, 'has to have at least one label');
  for (const [key, wanted] of Object.entries(labels))
    if (!isLabelValue(wanted)) throw invalidValue(child(place, key), 'cannot be the value of a label');
  return labels;
}

function annotationsAt(value: unknown, place: Location): Record<string, string> {
  const annotations = textsAt(value, place);
  const own = Object.keys(annotations).find((key) => key.startsWith('bosh.cloudfoundry.org/'));
  if (own !== undefined) throw invalidValue(child(place, own), "is the CPI's own");
  return annotations;
}

function textsAt(value: unknown, place: Location): Record<string, string> {
  const entries = Object.entries(recordAt(value, place)).map(([key, text]) => {
    if (!isQualifiedName(key))
      throw invalidValue(child(place, key), 'is not the name of a label or an annotation');
    if (typeof text !== 'string') throw invalidValue(child(place, key), 'has to be a string');
    return [key, text] as const;
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
const maxPort = 65_535;

/** Parses a list of `{name, port, target_port, node_port, protocol}`. Throws INVALID_ARGUMENT. */
export function parsePorts(value: unknown, place: Location): readonly PortRequest[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw invalidValue(place, 'has to be a list');
  const ports = value.map((item: unknown, index) =>
    portAt(recordAt(item, child(place, index)), child(place, index)),
  );
  if (ports.length > 1 && ports.some(({ name }) => name === undefined))
    throw invalidValue(place, 'has several ports, so each needs a name');
  rejectDuplicates(
    ports.map(({ name }) => name),
    place,
    'names',
  );
  rejectDuplicates(
    ports.map(({ port, protocol }) => `${port}/${protocol}`),
    place,
    'ports',
  );
  rejectDuplicates(
    ports.map(({ nodePort }) => nodePort?.toString()),
    place,
    'node ports',
  );
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

function portAt(given: Json, place: Location): PortRequest {
  rejectUnknownKeys(given, ['name', 'port', 'target_port', 'node_port', 'protocol'], place);
  const name = optionalStringAt(given['name'], child(place, 'name'));
  if (name !== undefined && !isDnsLabel(name)) throw invalidValue(child(place, 'name'), 'is not a DNS label');
  const protocol = protocols.find((known) => known === (given['protocol'] ?? 'TCP'));
  if (protocol === undefined)
    throw invalidValue(child(place, 'protocol'), `has to be one of ${protocols.join(', ')}`);
  return {
    name,
    port: numberAt(given['port'], child(place, 'port')),
    targetPort: optionalNumberAt(given['target_port'], child(place, 'target_port')),
    nodePort: optionalNumberAt(given['node_port'], child(place, 'node_port')),
    protocol,
  };
}

function numberAt(value: unknown, place: Location): number {
  const port = positiveIntegerAt(value, place);
  if (port > maxPort) throw invalidValue(place, `has to be a port, 1 to ${maxPort}`);
  return port;
}

const optionalNumberAt = (value: unknown, place: Location): number | undefined =>
  value === undefined || value === null ? undefined : numberAt(value, place);

function rejectDuplicates(values: readonly (string | undefined)[], place: Location, what: string): void {
  const given = values.filter((value) => value !== undefined);
  if (new Set(given).size < given.length) throw invalidValue(place, `has ${what} twice`);
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
  /** How traffic for the address gets to the VM; each way is a Service. */
  readonly via: (typeof vipTypes)[number];
  /** A Service forwards only the ports that it lists. */
  readonly ports: readonly PortRequest[];
}

/** Parses `{via, ports}`; the default of via is load_balancer. Throws INVALID_ARGUMENT. */
export function parseVipProperties(value: unknown, place: Location): VipProperties {
  const vip = recordAt(value, place);
  rejectUnknownKeys(vip, ['via', 'ports'], place);
  const given = vip['via'] ?? 'load_balancer';
  const via = vipTypes.find((way) => way === given);
  if (via === undefined) throw invalidValue(child(place, 'via'), `has to be one of ${vipTypes.join(', ')}`);
  const ports = parsePorts(vip['ports'], child(place, 'ports'));
  if (ports.length === 0)
    throw invalidValue(child(place, 'ports'), 'has to list the ports that the address is for');
  return { via, ports };
}
