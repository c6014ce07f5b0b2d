import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { isIP, connect, type LookupFunction, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { ProductError } from '../errors/product-error.ts';
import type { Access } from '../kubernetes/access/access.ts';
import { type KubernetesApi, ignoreNotFound } from '../kubernetes/api.ts';
import { type PodPort, openPodPort } from '../kubernetes/client/port-forward.ts';
import type { Pod } from '../kubernetes/types/pod.ts';
import { endpointSlices, pods, services } from '../kubernetes/resources.ts';
import {
  serviceNameLabel,
  type EndpointSlice,
  type Service,
  type ServicePort,
} from '../kubernetes/types/service.ts';
import {
  type NameMap,
  type ServiceName,
  isLoopbackAddress,
  normalizeAddress,
  type Networks,
} from './options.ts';
import type { Destination } from './socks5.ts';

/** The route to a destination: through the API server, or from this machine at these addresses. */
export type Route =
  | ({ readonly kind: 'pod' } & PodPort)
  | { readonly kind: 'direct'; readonly addresses: readonly string[]; readonly port: number };

export interface RouteOptions {
  readonly api: Pick<KubernetesApi, 'get' | 'list'>;
  /** The namespaces whose pods and Services are reachable. */
  readonly namespaces: readonly string[];
  /** An address in these networks that no pod has is refused. */
  readonly networks: Networks;
  readonly names: NameMap;
  /** This machine's resolver: returns all addresses of a name; rejects if it has none. */
  readonly resolve: (name: string) => Promise<readonly string[]>;
}

/**
 * Finds the route to a destination. Rejects with TUNNEL_REFUSED, which has the remedy, if a name or address
 * of the cluster has no pod. Such a destination is never dialled from this machine, even if this machine's
 * DNS resolves it.
 */
export async function findRoute({ host, port }: Destination, options: RouteOptions): Promise<Route> {
  if (isIP(host) !== 0) return routeToAddress(normalizeAddress(host), port, options);
  const mapped = options.names(host);
  if (mapped !== undefined) return routeToService(mapped, port, options);
  const inCluster = parseClusterName(host, options);
  if (inCluster?.kind === 'svc') return routeToService(inCluster, port, options);
  if (inCluster?.kind === 'pod') return routeToPodName(inCluster, port, options);
  const addresses = (await options.resolve(host)).map(normalizeAddress);
  const routes = await Promise.all(addresses.map((address) => routeToAddress(address, port, options)));
  return routes.find(({ kind }) => kind === 'pod') ?? { kind: 'direct', addresses, port };
}

const refusedError = (message: string): ProductError => new ProductError('TUNNEL_REFUSED', message);

interface ClusterName extends ServiceName {
  readonly kind: 'svc' | 'pod';
}

/** Parses `NAME.NAMESPACE.svc` and `NAME.NAMESPACE.pod`, with or without any cluster domain. */
function parseClusterName(host: string, { namespaces }: RouteOptions): ClusterName | undefined {
  const [, name = '', namespace = '', kind = '', domain = ''] =
    /^([^.]+)\.([^.]+)\.(svc|pod)(?:\.(.+))?$/u.exec(host) ?? [];
  if (kind !== 'svc' && kind !== 'pod') return undefined;
  if (namespaces.includes(namespace)) return { kind, namespace, name };
  if (domain !== '' && domain !== 'cluster.local') return undefined;
  throw refusedError(
    `${host} is in namespace '${namespace}', which the tunnel does not serve; start it with --namespace ${namespace}`,
  );
}

async function routeToAddress(address: string, port: number, options: RouteOptions): Promise<Route> {
  const direct: Route = { kind: 'direct', addresses: [address], port };
  if (isLoopbackAddress(address)) return direct;
  const pod = await findPod(address, options);
  if (pod !== undefined) return { kind: 'pod', ...pod, port };
  const service = await findService(address, options);
  if (service !== undefined) return routeToService(service, port, options);
  if (!options.networks.has(address)) return direct;
  throw refusedError(
    `No running pod of namespace ${options.namespaces.join(', ')} has the address ${address}; list the addresses of pods: kubectl get pods -o wide`,
  );
}

/**
 * Finds the running pod with that address. Skips pods with the network of their node: they have the node's
 * address, which does not lead to the pod.
 */
async function findPod(
  address: string,
  { api, namespaces }: RouteOptions,
): Promise<{ namespace: string; pod: string } | undefined> {
  // the server selects only by the first address of a pod, which is IPv4 nearly everywhere
  const fieldSelector = isIP(address) === 4 ? { fieldSelector: `status.podIP=${address}` } : {};
  const lists = await Promise.all(
    namespaces.map(async (namespace) => {
      const { items } = await api.list<Pod>(pods, { namespace, ...fieldSelector });
      return items
        .filter((pod) => pod.status?.phase === 'Running' && pod.spec.hostNetwork !== true)
        .filter(({ status }) =>
          [{ ip: status?.podIP ?? '' }, ...(status?.podIPs ?? [])].some(
            ({ ip }) => normalizeAddress(ip) === address,
          ),
        )
        .map(({ metadata }) => ({ namespace, pod: metadata.name }));
    }),
  );
  return lists.flat()[0];
}

async function findService(
  address: string,
  { api, namespaces }: RouteOptions,
): Promise<ServiceName | undefined> {
  const lists = await Promise.all(
    namespaces.map(async (namespace) => {
      const { items } = await api.list<Service>(services, { namespace });
      return items
        .filter(({ spec }) =>
          [spec.clusterIP, ...(spec.clusterIPs ?? [])].some(
            (ip) => ip !== undefined && normalizeAddress(ip) === address,
          ),
        )
        .map(({ metadata }) => ({ namespace, name: metadata.name }));
    }),
  );
  return lists.flat()[0];
}

async function routeToPodName(
  { namespace, name }: ServiceName,
  port: number,
  options: RouteOptions,
): Promise<Route> {
  // the form of the cluster's DNS: 10-244-0-6.NAMESPACE.pod
  for (const address of [name.replaceAll('-', '.'), name.replaceAll('-', ':')])
    if (isIP(address) !== 0)
      return routeToAddress(normalizeAddress(address), port, { ...options, namespaces: [namespace] });
  const pod = await ignoreNotFound(options.api.get<Pod>({ resource: pods, namespace, name }));
  if (pod?.status?.phase === 'Running') return { kind: 'pod', namespace, pod: name, port };
  throw refusedError(
    `Pod ${namespace}/${name} ${pod === undefined ? 'does not exist' : 'does not run'}; see kubectl get pods -n ${namespace}`,
  );
}

async function routeToService(
  { namespace, name }: ServiceName,
  port: number,
  options: RouteOptions,
): Promise<Route> {
  const service = await ignoreNotFound(options.api.get<Service>({ resource: services, namespace, name }));
  if (service === undefined)
    throw refusedError(
      `Namespace '${namespace}' has no Service '${name}'; see kubectl get services -n ${namespace}`,
    );
  const { spec } = service;
  if (spec.type === 'ExternalName')
    throw refusedError(
      `Service ${namespace}/${name} is an ExternalName for ${spec.externalName}; connect to that name`,
    );
  const tcp = (spec.ports ?? []).filter(({ protocol = 'TCP' }) => protocol === 'TCP');
  const served = tcp.find((each) => each.port === port);
  if (served === undefined && spec.clusterIP !== 'None')
    throw refusedError(
      `Service ${namespace}/${name} has no TCP port ${port}; it has ${tcp.map((each) => each.port).join(', ') || 'none'}`,
    );
  const { items } = await options.api.list<EndpointSlice>(endpointSlices, {
    namespace,
    labelSelector: `${serviceNameLabel}=${name}`,
  });
  for (const slice of items) {
    const target = served === undefined ? port : targetPort(slice, served);
    const pod = readyPod(slice);
    if (target !== undefined && pod !== undefined) return { kind: 'pod', namespace, pod, port: target };
  }
  throw refusedError(
    `No pod behind Service ${namespace}/${name} is ready; see kubectl get endpointslices,pods -n ${namespace}`,
  );
}

const targetPort = ({ ports }: EndpointSlice, { name = '' }: ServicePort): number | undefined =>
  ports?.find((each) => (each.name ?? '') === name && (each.protocol ?? 'TCP') === 'TCP')?.port;

const readyPod = ({ endpoints }: EndpointSlice): string | undefined =>
  endpoints?.find(({ conditions, targetRef }) => conditions?.ready !== false && targetRef?.kind === 'Pod')
    ?.targetRef?.name;

export type ConnectOptions = Omit<RouteOptions, 'resolve'> & { readonly access: Access };

/**
 * Opens a stream to a destination, over the route that findRoute returns. Rejects as findRoute and
 * openPodPort do, or with the system's error.
 */
export async function connectTo(destination: Destination, options: ConnectOptions): Promise<Duplex> {
  const route = await findRoute(destination, { ...options, resolve });
  return route.kind === 'pod' ? openPodPort(options.access, route) : dial(route);
}

async function resolve(name: string): Promise<string[]> {
  const found = await lookup(name, { all: true });
  return found.map(({ address }) => address);
}

/** Dials only those addresses: another lookup of the name could return others, of the cluster's networks. */
async function dial({ addresses, port }: Extract<Route, { kind: 'direct' }>): Promise<Socket> {
  const all = addresses.map((address) => ({ address, family: isIP(address) }));
  const known: LookupFunction = (_name, _options, done) => done(null, all);
  const [only = ''] = addresses;
  const socket = connect({
    port,
    ...(all.length === 1 ? { host: only } : { host: 'resolved', lookup: known, autoSelectFamily: true }),
    allowHalfOpen: true,
    noDelay: true,
  });
  await once(socket, 'connect');
  return socket;
}
