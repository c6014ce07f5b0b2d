import type { KubernetesApi } from '../../src/kubernetes/api.ts';
import { endpointSlices, services } from '../../src/kubernetes/resources.ts';
import { serviceNameLabel, type EndpointSlice, type Service } from '../../src/kubernetes/types/service.ts';
import { EventRecorder } from '../controllers/runtime/event-recorder.ts';
import { Informer } from '../controllers/runtime/informer.ts';
import { WorkQueue, type ControllerRuntime } from '../controllers/runtime/work-queue.ts';
import { type Listener, listenersOf } from './listeners.ts';
import { TcpProxy } from './tcp-proxy.ts';

export interface ServiceProxyOptions extends ControllerRuntime {
  readonly api: KubernetesApi;
  /** The address on which node ports listen. */
  readonly nodeAddress: string;
}

const tryAgainMs = 3_000;

const keyOfListener = ({ address, port }: Listener): string => `${address}:${port}`;

/**
 * Does the work of kube-proxy with TCP proxies: listens on the addresses of all Services and forwards
 * connections to their ready pods. If an address cannot be bound, it records an event on the Service and
 * tries again. Resolves when every existing Service is served; `stop` closes all sockets.
 */
export async function startServiceProxy(options: ServiceProxyOptions): Promise<{ stop(): Promise<void> }> {
  const { api, nodeAddress } = options;
  const known = new Informer<Service>(api, services, options);
  const slices = new Informer<EndpointSlice>(api, endpointSlices, options);
  const recorder = new EventRecorder({ ...options, component: 'kube-proxy' });
  const open = new Map<string, Map<string, TcpProxy>>();
  const refusals = new Map<string, string>();
  const queue = new WorkQueue('service-proxy', reconcile, options);

  known.onChange(({ key }) => queue.add(key));
  slices.onChange(({ before, after }) => {
    const metadata = (after ?? before)?.metadata;
    const name = metadata?.labels?.[serviceNameLabel];
    if (name !== undefined) queue.add(`${metadata?.namespace ?? ''}/${name}`);
  });

  async function reconcile(key: string): Promise<void> {
    const service = known.get(key);
    const wanted = service === undefined ? [] : listenersOf(service, slices.list(), nodeAddress);
    const present = open.get(key) ?? new Map<string, TcpProxy>();
    open.set(key, present);
    const names = new Set(wanted.map(keyOfListener));
    for (const [name, proxy] of present) {
      if (names.has(name)) continue;
      present.delete(name);
      await proxy.close(false);
    }
    for (const listener of wanted) {
      const proxy = present.get(keyOfListener(listener)) ?? (await listen(listener, service as Service, key));
      if (proxy === undefined) continue;
      proxy.setBackends(listener.backends);
      present.set(keyOfListener(listener), proxy);
    }
    if (present.size === 0) open.delete(key);
  }

  async function listen(listener: Listener, service: Service, key: string): Promise<TcpProxy | undefined> {
    const proxy = new TcpProxy();
    try {
      await proxy.listen(listener.address, listener.port);
      refusals.delete(keyOfListener(listener));
      return proxy;
    } catch (error) {
      tell(listener, service, whyNot(listener, error));
      queue.addAfter(key, tryAgainMs);
      return undefined;
    }
  }

  /** Records an event once for each reason, because the bind is tried every few seconds. */
  function tell(listener: Listener, service: Service, message: string): void {
    if (refusals.get(keyOfListener(listener)) === message) return;
    refusals.set(keyOfListener(listener), message);
    recorder.record(
      { kind: 'Service', apiVersion: 'v1', object: service },
      { type: 'Warning', reason: 'FailedToListen', message },
    );
  }

  const watching = [known.run(), slices.run()];
  await Promise.all([known.synced, slices.synced]);
  await Promise.all(
    known
      .list()
      .map((service) => reconcile(`${service.metadata.namespace ?? ''}/${service.metadata.name ?? ''}`)),
  );
  const working = queue.run();
  return {
    stop: async () => {
      for (const part of [queue, known, slices]) part.stop();
      await Promise.all([...watching, working]);
      await Promise.all(
        [...open.values()].flatMap((proxies) => [...proxies.values()].map((proxy) => proxy.close(true))),
      );
      await recorder.flush();
    },
  };
}

function whyNot({ address, port }: Listener, error: unknown): string {
  const { code = '', message } = error as NodeJS.ErrnoException;
  const why =
    code === 'EADDRINUSE'
      ? 'another process of this machine listens there, or on that port of every address (0.0.0.0)'
      : code === 'EACCES'
        ? 'the cluster may not listen below net.ipv4.ip_unprivileged_port_start, give the Service a higher port'
        : message;
  return `cannot listen on ${address}:${port}: ${why}`;
}
