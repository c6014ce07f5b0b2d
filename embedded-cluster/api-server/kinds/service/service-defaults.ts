import type { Service, ServicePort, ServiceSpec } from '../../../../src/kubernetes/types/service.ts';
import { isRecord } from '../../schema/json.ts';
import type { MutableObject } from '../kind.ts';

/** Returns a draft as a Service: its fields have the right types, but required fields may be missing. */
export function asService(draft: MutableObject): Service {
  if (!isRecord(draft['spec'])) draft['spec'] = {};
  return draft as unknown as Service;
}

export const isHeadless = ({ clusterIP }: ServiceSpec): boolean => clusterIP === 'None';

export function needsNodePorts({ type, allocateLoadBalancerNodePorts }: ServiceSpec): boolean {
  return type === 'NodePort' || (type === 'LoadBalancer' && allocateLoadBalancerNodePorts !== false);
}

/**
 * Sets the defaults of kubernetes pkg/apis/core/v1/defaults.go SetDefaults_Service, and the IP families of a
 * cluster that has IPv4 only.
 */
export function fillServiceDefaults(draft: MutableObject): void {
  const { spec } = asService(draft);
  spec.type ??= 'ClusterIP';
  spec.sessionAffinity ??= 'None';
  spec.internalTrafficPolicy ??= 'Cluster';
  if (spec.type === 'NodePort' || spec.type === 'LoadBalancer') spec.externalTrafficPolicy ??= 'Cluster';
  if (spec.type === 'LoadBalancer') spec.allocateLoadBalancerNodePorts ??= true;
  spec.ipFamilyPolicy ??= 'SingleStack';
  spec.ipFamilies ??= ['IPv4'];
  alignAddresses(spec);
  for (const port of spec.ports ?? []) fillPort(port);
}

function alignAddresses(spec: ServiceSpec): void {
  const [first] = spec.clusterIPs ?? [];
  if (spec.clusterIP === undefined && first !== undefined) spec.clusterIP = first;
  if (spec.clusterIPs === undefined && (spec.clusterIP ?? '') !== '')
    spec.clusterIPs = [spec.clusterIP ?? ''];
}

function fillPort(port: ServicePort): void {
  port.protocol ??= 'TCP';
  if (port.targetPort === undefined || port.targetPort === 0 || port.targetPort === '') {
    port.targetPort = port.port;
  }
  if (port.nodePort === 0) delete port.nodePort;
}
