import { serviceNameLabel, type EndpointSlice, type Service } from '../../src/kubernetes/types/service.ts';

export interface Backend {
  readonly address: string;
  readonly port: number;
}

/** One socket that a Service needs, and the backends of its connections. */
export interface Listener {
  readonly address: string;
  readonly port: number;
  readonly backends: readonly Backend[];
}

/**
 * Returns the sockets of a Service: its cluster address with every port, and the node's address with every
 * node port. A headless Service has none. Backends are the ready endpoints; the Service port's name selects
 * their port. Pure.
 */
export function listenersOf(
  service: Service,
  slices: readonly EndpointSlice[],
  nodeAddress: string,
): Listener[] {
  const { clusterIP = 'None', ports = [] } = service.spec;
  const own = slices.filter((slice) => isOf(slice, service));
  return ports
    .filter(({ protocol = 'TCP' }) => protocol === 'TCP')
    .flatMap(({ name = '', port, nodePort }) => {
      const backends = own.flatMap((slice) => backendsOf(slice, name));
      return [
        ...(clusterIP === 'None' || clusterIP === '' ? [] : [{ address: clusterIP, port, backends }]),
        ...(nodePort === undefined ? [] : [{ address: nodeAddress, port: nodePort, backends }]),
      ];
    });
}

function isOf({ metadata }: EndpointSlice, service: Service): boolean {
  return (
    metadata.namespace === service.metadata.namespace &&
    metadata.labels?.[serviceNameLabel] === service.metadata.name
  );
}

function backendsOf({ endpoints, ports }: EndpointSlice, name: string): Backend[] {
  const port = ports?.find((each) => (each.name ?? '') === name)?.port;
  if (port === undefined) return [];
  return (endpoints ?? [])
    .filter(({ conditions }) => conditions?.ready !== false)
    .flatMap(({ addresses }) => addresses.slice(0, 1).map((address) => ({ address, port })));
}
