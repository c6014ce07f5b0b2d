import type { ServicePort, ServiceSpec } from '../../kubernetes/service.ts';

/**
 * Fields that cloud_properties set, or that follow from them (service-request.ts, families.ts). One that is
 * not requested anymore is removed.
 */
const managedFields: ReadonlySet<string> = new Set<keyof ServiceSpec>([
  ...(['type', 'selector', 'ports', 'clusterIP', 'clusterIPs', 'externalIPs', 'loadBalancerIP'] as const),
  ...(['ipFamilies', 'ipFamilyPolicy'] as const),
]);
/**
 * Fields of load balancers only. Kubernetes never changes a class while the type stays LoadBalancer, so a
 * class that the request does not name stays, whatever set it.
 */
const loadBalancerFields: ReadonlySet<string> = new Set<keyof ServiceSpec>([
  ...(['allocateLoadBalancerNodePorts', 'loadBalancerClass', 'loadBalancerSourceRanges'] as const),
  'healthCheckNodePort',
]);

/**
 * Returns the requested spec merged over the existing one. Fields that cloud_properties cannot set belong to
 * a webhook or an operator and stay, except for those that Kubernetes refuses with the requested type
 * (kubernetes pkg/apis/core/validation validateService; pkg/registry/core/service strategy.go
 * dropTypeDependentFields, storage.go patchAllocatedValues).
 */
export function mergeSpec(found: ServiceSpec, wanted: ServiceSpec): ServiceSpec {
  const foreign = Object.entries(found).filter(
    ([field]) => !managedFields.has(field) && isAllowed(field, wanted),
  );
  const { clusterIP, clusterIPs, type } = found;
  const isDifferentPort = wanted.clusterIP !== undefined && wanted.clusterIP !== clusterIP;
  const keepsNodePorts = hasNodePorts(type) && hasNodePorts(wanted.type);
  return {
    ...Object.fromEntries(foreign),
    ...(!isDifferentPort && clusterIP !== undefined && { clusterIP }),
    ...(!isDifferentPort && clusterIPs !== undefined && { clusterIPs }),
    ...wanted,
    ...(wanted.ports !== undefined && {
      ports: wanted.ports.map((port) => mergePort(found, wanted.ports ?? [], port, keepsNodePorts)),
    }),
  };
}

function isAllowed(field: string, { type, externalIPs = [] }: ServiceSpec): boolean {
  if (field === 'externalName') return false;
  if (field === 'externalTrafficPolicy') return hasNodePorts(type) || externalIPs.length > 0;
  return type === 'LoadBalancer' || !loadBalancerFields.has(field);
}

const hasNodePorts = (type: ServiceSpec['type']): boolean => type === 'NodePort' || type === 'LoadBalancer';

/**
 * Merges a port into the existing one of that name, as Kubernetes does, and of that protocol, because two
 * protocols may share a node port.
 */
function mergePort(
  found: ServiceSpec,
  all: readonly ServicePort[],
  port: ServicePort,
  keepsNodePort: boolean,
): ServicePort {
  const former = found.ports?.find(({ name, protocol }) => name === port.name && protocol === port.protocol);
  if (former === undefined) return port;
  const { nodePort, ...rest } = former;
  const isFree = nodePort !== undefined && all.every((other) => other.nodePort !== nodePort);
  return { ...rest, ...(keepsNodePort && isFree && { nodePort }), ...port };
}
