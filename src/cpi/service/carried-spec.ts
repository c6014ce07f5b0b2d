import type { ServicePort, ServiceSpec } from '../../kubernetes/service.ts';

/** What cloud_properties name, or what follows from them (service-request.ts, families.ts): not asked for any more is gone. */
const managedFields: ReadonlySet<string> = new Set<keyof ServiceSpec>([
  ...(['type', 'selector', 'ports', 'clusterIP', 'clusterIPs', 'externalIPs', 'loadBalancerIP'] as const),
  ...(['ipFamilies', 'ipFamilyPolicy'] as const),
]);
/** A class is never changed as long as it is a load balancer, so one that nobody names stays, whoever gave it. */
const loadBalancerFields: ReadonlySet<string> = new Set<keyof ServiceSpec>([
  ...(['allocateLoadBalancerNodePorts', 'loadBalancerClass', 'loadBalancerSourceRanges'] as const),
  'healthCheckNodePort',
]);

/**
 * The spec that is asked for, over the one that is there: what cloud_properties cannot name is a webhook's or an operator's and
 * stays, except for what Kubernetes refuses with the type that is asked for (kubernetes pkg/apis/core/validation validateService;
 * pkg/registry/core/service strategy.go dropTypeDependentFields, storage.go patchAllocatedValues). Pure.
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

/** A port is the same by its name, as Kubernetes has it, and by its protocol: two protocols may share a node port. */
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
