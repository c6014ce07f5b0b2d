import { isDnsLabel, isLabelValue, isQualifiedName } from '../../../kubernetes/names.ts';
import { familyOf } from '../../../kubernetes/ip-text.ts';
import type { Json, Place } from '../../input.ts';
import {
  at,
  optionalStringAt,
  recordAt,
  refuseUnknownKeys,
  stringAt,
  stringsAt,
  wrong,
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

/** `services`: the Services by which a VM, or its instance group, is reached. */
export const services: Topic<readonly ServiceRequest[]> = {
  keys: ['services'],
  parse: (properties, place) => {
    const value = properties['services'] ?? [];
    const list = at(place, 'services');
    if (!Array.isArray(value)) throw wrong(list, 'has to be a list');
    const requests = value.map((item: unknown, index) =>
      serviceAt(recordAt(item, at(list, index)), at(list, index)),
    );
    const names = requests.map(({ name }) => name);
    if (new Set(names).size < names.length) throw wrong(list, 'has a name twice');
    return requests;
  },
};

function serviceAt(given: Json, place: Place): ServiceRequest {
  refuseUnknownKeys(given, keys, place);
  const type = serviceTypes.find((known) => known === (given['type'] ?? 'ClusterIP'));
  if (type === undefined) throw wrong(at(place, 'type'), `has to be one of ${serviceTypes.join(', ')}`);
  const request: ServiceRequest = {
    name: serviceNameAt(given['name'], at(place, 'name')),
    type,
    clusterIp: clusterIpAt(given['cluster_ip'], at(place, 'cluster_ip')),
    ports: parsePorts(given['ports'], at(place, 'ports')),
    selector: selectorAt(given['selector'], at(place, 'selector')),
    annotations: annotationsAt(given['annotations'], at(place, 'annotations')),
    loadBalancerIp: addressAt(given['load_balancer_ip'], at(place, 'load_balancer_ip')),
    loadBalancerClass: optionalStringAt(given['load_balancer_class'], at(place, 'load_balancer_class')),
    externalIps: stringsAt(given['external_ips'], at(place, 'external_ips')).map(
      (text, index) => addressAt(text, at(at(place, 'external_ips'), index)) ?? '',
    ),
  };
  checkType(request, place);
  return request;
}

/** A Service's name is a DNS-1035 label: part of a host name, and it begins with a letter. */
function serviceNameAt(value: unknown, place: Place): string {
  const name = stringAt(value, place);
  if (!isDnsLabel(name) || !/^[a-z]/u.test(name))
    throw wrong(place, 'has to be a DNS label that begins with a letter');
  return name;
}

function checkType({ type, clusterIp, ports, ...request }: ServiceRequest, place: Place): void {
  const isHeadless = clusterIp === 'None';
  if (isHeadless && type !== 'ClusterIP') throw wrong(at(place, 'cluster_ip'), `cannot be None for ${type}`);
  if (!isHeadless && ports.length === 0)
    throw wrong(at(place, 'ports'), 'has to list the ports of the Service');
  const hasNodePort = ports.some(({ nodePort }: PortRequest) => nodePort !== undefined);
  if (hasNodePort && type === 'ClusterIP')
    throw wrong(at(place, 'ports'), 'has a node_port, which needs type NodePort or LoadBalancer');
  if (type === 'LoadBalancer') return;
  if (request.loadBalancerIp !== undefined)
    throw wrong(at(place, 'load_balancer_ip'), 'needs type LoadBalancer');
  if (request.loadBalancerClass !== undefined)
    throw wrong(at(place, 'load_balancer_class'), 'needs type LoadBalancer');
}

function clusterIpAt(value: unknown, place: Place): string | undefined {
  return value === 'None' ? 'None' : addressAt(value, place);
}

function addressAt(value: unknown, place: Place): string | undefined {
  const text = optionalStringAt(value, place);
  if (text !== undefined && familyOf(text) === undefined) throw wrong(place, 'is not an IP address');
  return text;
}

function selectorAt(value: unknown, place: Place): ServiceSelector | undefined {
  if (value === undefined || value === null) return undefined;
  if (value === 'group' || value === 'vm') return value;
  if (typeof value === 'string') throw wrong(place, 'has to be group, vm, or labels');
  const labels = textsAt(value, place);
  // an empty selector is no selector: Kubernetes would pass traffic to nobody
  if (Object.keys(labels).length === 0) throw wrong(place, 'has to have at least one label');
  for (const [key, wanted] of Object.entries(labels))
    if (!isLabelValue(wanted)) throw wrong(at(place, key), 'cannot be the value of a label');
  return labels;
}

function annotationsAt(value: unknown, place: Place): Record<string, string> {
  const annotations = textsAt(value, place);
  const own = Object.keys(annotations).find((key) => key.startsWith('bosh.cloudfoundry.org/'));
  if (own !== undefined) throw wrong(at(place, own), "is the CPI's own");
  return annotations;
}

function textsAt(value: unknown, place: Place): Record<string, string> {
  const entries = Object.entries(recordAt(value, place)).map(([key, text]) => {
    if (!isQualifiedName(key)) throw wrong(at(place, key), 'is not the name of a label or an annotation');
    if (typeof text !== 'string') throw wrong(at(place, key), 'has to be a string');
    return [key, text] as const;
  });
  return Object.fromEntries(entries);
}
