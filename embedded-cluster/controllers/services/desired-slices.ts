import type { Stored } from '../../../src/kubernetes/object.ts';
import type { Container, Pod } from '../../../src/kubernetes/types/pod.ts';
import {
  serviceNameLabel,
  type Endpoint,
  type EndpointPort,
  type EndpointSlice,
  type Service,
} from '../../../src/kubernetes/types/service.ts';

export const managedByLabel = 'endpointslice.kubernetes.io/managed-by';
export const manager = 'endpointslice-controller.k8s.io';

/** kube-controller-manager's --max-endpoints-per-slice. */
const maxEndpointsPerSlice = 100;

/**
 * Returns true if a pod is an endpoint of a Service (kubernetes pkg/controller/util/endpoint
 * ShouldPodBeInEndpoints).
 */
export function isSelectedBy(service: Service, pod: Pod): boolean {
  const { selector } = service.spec;
  const labels = pod.metadata.labels ?? {};
  return (
    selector !== undefined &&
    pod.metadata.namespace === service.metadata.namespace &&
    Object.entries(selector).every(([key, value]) => labels[key] === value)
  );
}

/**
 * Returns the EndpointSlices of a Service with those pods. Pods whose named ports differ are in separate
 * slices. A Service without pods has one empty slice, as upstream. Names are derived from the Service's uid
 * and not random, so that a slice that the controller does not see yet is not created twice. Pure.
 */
export function desiredSlices(service: Stored<Service>, pods: readonly Stored<Pod>[]): EndpointSlice[] {
  const groups = new Map<string, { ports: EndpointPort[]; endpoints: Endpoint[] }>();
  const reachable = pods
    .filter((pod) => isSelectedBy(service, pod) && hasEndpoint(pod))
    .toSorted((left, right) => left.metadata.name.localeCompare(right.metadata.name));
  for (const pod of reachable) {
    const ports = portsOf(service, pod);
    const key = JSON.stringify(ports);
    const group = groups.get(key) ?? { ports, endpoints: [] };
    group.endpoints.push(endpointOf(service, pod));
    groups.set(key, group);
  }
  const slices = [...groups.values()].flatMap(({ ports, endpoints }) =>
    chunks(endpoints).map((some) => ({ ports, endpoints: some })),
  );
  return (slices.length === 0 ? [{ ports: [], endpoints: [] }] : slices).map(({ ports, endpoints }, index) =>
    slice(service, index, { ports, endpoints }),
  );
}

function hasEndpoint({ status = {} }: Pod): boolean {
  return status.podIP !== undefined && status.phase !== 'Failed' && status.phase !== 'Succeeded';
}

function endpointOf(service: Service, { metadata, spec, status }: Stored<Pod>): Endpoint {
  const isReady =
    status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;
  const isTerminating = metadata.deletionTimestamp !== undefined;
  const { namespace, name, uid } = metadata;
  return {
    addresses: [status?.podIP ?? ''],
    conditions: {
      ready: service.spec.publishNotReadyAddresses === true || (isReady && !isTerminating),
      serving: isReady,
      terminating: isTerminating,
    },
    ...(spec.nodeName !== undefined && { nodeName: spec.nodeName }),
    targetRef: { kind: 'Pod', namespace, name, uid },
  };
}

/** Resolves the ports of a Service for a pod. Omits a port that no container of the pod has (FindPort). */
function portsOf({ spec }: Service, pod: Pod): EndpointPort[] {
  return (spec.ports ?? []).flatMap(({ name = '', protocol = 'TCP', appProtocol, targetPort = 0 }) => {
    const port = typeof targetPort === 'number' ? targetPort : containerPort(pod, targetPort, protocol);
    if (port === undefined) return [];
    return [{ name, protocol, port, ...(appProtocol !== undefined && { appProtocol }) }];
  });
}

function containerPort({ spec }: Pod, portName: string, protocol: string): number | undefined {
  const all = spec.containers.flatMap((container: Container) => container.ports ?? []);
  return all.find((port) => port.name === portName && (port.protocol ?? 'TCP') === protocol)?.containerPort;
}

function slice(
  service: Stored<Service>,
  index: number,
  { ports, endpoints }: { readonly ports: EndpointPort[]; readonly endpoints: Endpoint[] },
): EndpointSlice {
  const { name, namespace, uid, labels } = service.metadata;
  return {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: {
      name: `${name}-${uid.slice(0, 5)}${index === 0 ? '' : `-${index}`}`,
      namespace,
      labels: {
        ...labels,
        [serviceNameLabel]: name,
        [managedByLabel]: manager,
        ...(service.spec.clusterIP === 'None' && { 'service.kubernetes.io/headless': '' }),
      },
      ownerReferences: [
        { apiVersion: 'v1', kind: 'Service', name, uid, controller: true, blockOwnerDeletion: true },
      ],
    },
    addressType: 'IPv4',
    endpoints: endpoints.length > 0 ? endpoints : null,
    ports: ports.length > 0 ? ports : null,
  };
}

function chunks(endpoints: readonly Endpoint[]): Endpoint[][] {
  const count = Math.ceil(endpoints.length / maxEndpointsPerSlice);
  return Array.from({ length: count }, (_, index) =>
    endpoints.slice(index * maxEndpointsPerSlice, (index + 1) * maxEndpointsPerSlice),
  );
}
