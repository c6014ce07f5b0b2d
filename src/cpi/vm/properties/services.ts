import { isDnsLabel, isLabelValue, isQualifiedName } from '../../../kubernetes/names.ts';
import { familyOf } from '../../../kubernetes/ip-text.ts';
import type { Json, Location } from '../../input.ts';
import {
  child,
  optionalStringAt,
  recordAt,
  rejectUnknownKeys,
  stringAt,
  stringsAt,
  invalidValue,
} from '../../input.ts';
import { parsePorts } from '../../service/service-ports.ts';
import type { PortRequest } from '../../service/service-ports.ts';
import type { ServiceRequest, ServiceSelector } from '../../service/service-request.ts';
import { serviceTypes } from '../../service/service-request.ts';
import type { Topic } from './topic.ts';

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
