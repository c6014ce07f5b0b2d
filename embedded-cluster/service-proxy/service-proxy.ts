import { involved, EventRecorder } from '../../src/kubernetes/controllers/event-recorder.ts';
import type { KubernetesApi } from '../../src/kubernetes/api.ts';
import { endpointSlices, services } from '../../src/kubernetes/resources.ts';
import { serviceNameLabel, type EndpointSlice, type Service } from '../../src/kubernetes/types/service.ts';
import { Informer, keyOf } from '../../src/kubernetes/controllers/informer.ts';
import { WorkQueue, type ControllerRuntime } from '../../src/kubernetes/controllers/work-queue.ts';
import { TcpProxy, type Backend } from './tcp-proxy.ts';

export interface ServiceProxyOptions extends ControllerRuntime {
  readonly api: KubernetesApi;
  /** The address on which node ports listen. */
  readonly nodeAddress: string;
}

const retryMs = 3_000;

/**
 * Does the work of kube-proxy with TCP proxies: listens on the addresses of all Services and forwards
 * connections to their ready pods. If an address cannot be bound, it records an event on the Service and
 * tries again.
 */
export class ServiceProxy {
  readonly #nodeAddress: string;
  readonly #services: Informer<Service>;
  readonly #slices: Informer<EndpointSlice>;
  readonly #recorder: EventRecorder;
  readonly #queue: WorkQueue;
  /** The open sockets of each Service, by its key and the address of the socket. */
  readonly #open = new Map<string, Map<string, TcpProxy>>();
  /** Why an address could not be bound, by address. */
  readonly #failures = new Map<string, string>();
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: ServiceProxyOptions) {
    this.#nodeAddress = options.nodeAddress;
    this.#services = new Informer<Service>(options.api, services, options);
    this.#slices = new Informer<EndpointSlice>(options.api, endpointSlices, options);
    this.#recorder = new EventRecorder({ ...options, component: 'kube-proxy' });
    this.#queue = new WorkQueue('service-proxy', (key) => this.#reconcile(key), options);
    this.#services.onChange(({ key }) => this.#queue.add(key));
    this.#slices.onChange(({ before, after }) => {
      const metadata = (after ?? before)?.metadata;
      const name = metadata?.labels?.[serviceNameLabel];
      if (name !== undefined) this.#queue.add(`${metadata?.namespace ?? ''}/${name}`);
    });
  }

  /** Serves Services until `stop`. Resolves when every existing Service is served. */
  async start(): Promise<void> {
    const watching = [this.#services.run(), this.#slices.run()];
    await Promise.all([this.#services.synced, this.#slices.synced]);
    await Promise.all(this.#services.list().map((service) => this.#reconcile(keyOf(service))));
    this.#running = Promise.all([...watching, this.#queue.run()]);
  }

  /** Closes all sockets and their connections. */
  async stop(): Promise<void> {
    for (const part of [this.#queue, this.#services, this.#slices]) part.stop();
    await this.#running;
    const proxies = [...this.#open.values()].flatMap((listening) => [...listening.values()]);
    await Promise.all(proxies.map((proxy) => proxy.close(true)));
    await this.#recorder.flush();
  }

  async #reconcile(key: string): Promise<void> {
    const service = this.#services.get(key);
    const desired = service === undefined ? [] : listenersOf(service, this.#slices.list(), this.#nodeAddress);
    const listening = this.#open.get(key) ?? new Map<string, TcpProxy>();
    this.#open.set(key, listening);
    const addresses = new Set(desired.map(addressOf));
    for (const [address, proxy] of listening) {
      if (addresses.has(address)) continue;
      listening.delete(address);
      await proxy.close(false);
    }
    for (const listener of desired) {
      const proxy = listening.get(addressOf(listener)) ?? (await this.#listen(listener, service as Service));
      if (proxy === undefined) continue;
      proxy.setBackends(listener.backends);
      listening.set(addressOf(listener), proxy);
    }
    if (listening.size === 0) this.#open.delete(key);
  }

  /** Returns undefined if the address cannot be bound now. */
  async #listen(listener: Listener, service: Service): Promise<TcpProxy | undefined> {
    const proxy = new TcpProxy();
    try {
      await proxy.listen(listener.address, listener.port);
      this.#failures.delete(addressOf(listener));
      return proxy;
    } catch (error) {
      this.#recordFailure(listener, service, failureReason(listener, error));
      this.#queue.addAfter(keyOf(service), retryMs);
      return undefined;
    }
  }

  /** Records an event once for each reason, because the bind is tried every few seconds. */
  #recordFailure(listener: Listener, service: Service, message: string): void {
    if (this.#failures.get(addressOf(listener)) === message) return;
    this.#failures.set(addressOf(listener), message);
    this.#recorder.record(involved('Service', service), {
      type: 'Warning',
      reason: 'FailedToListen',
      message,
    });
  }
}

const addressOf = ({ address, port }: Listener): string => `${address}:${port}`;

function failureReason({ address, port }: Listener, error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  const why =
    code === 'EADDRINUSE'
      ? 'another process of this machine listens there, or on that port of every address (0.0.0.0)'
      : code === 'EACCES'
        ? 'the cluster may not listen below net.ipv4.ip_unprivileged_port_start, give the Service a higher port'
        : message;
  return `cannot listen on ${address}:${port}: ${why}`;
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
  const own = slices.filter((slice) => belongsTo(slice, service));
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

function belongsTo({ metadata }: EndpointSlice, service: Service): boolean {
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
