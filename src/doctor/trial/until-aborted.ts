import type { KubernetesApi } from '../../kubernetes/api.ts';
import type { CallContext } from '../../cpi/call.ts';
import type { Clock } from '../../platform/clock.ts';

type Ports = Pick<CallContext, 'api' | 'exec' | 'clock'>;

/**
 * Returns ports with which a method of the CPI, which takes no signal, ends soon after the signal is aborted:
 * each request and each command rejects with the signal's reason from then on, and nothing more is created.
 */
export function untilAborted({ api, exec, clock }: Ports, signal: AbortSignal): Ports {
  const unlessAborted = async <T>(request: () => Promise<T>): Promise<T> => {
    signal.throwIfAborted();
    return request();
  };
  return {
    api: abortableApi(api, signal, unlessAborted),
    exec: (command) => unlessAborted(() => Promise.race([exec(command), aborted(signal)])),
    clock: abortableClock(clock, signal),
  };
}

function abortableApi(
  api: KubernetesApi,
  signal: AbortSignal,
  unlessAborted: <T>(request: () => Promise<T>) => Promise<T>,
): KubernetesApi {
  return {
    get: (reference) => unlessAborted(() => api.get(reference)),
    list: (resource, query) => unlessAborted(() => api.list(resource, query)),
    create: (resource, object) => unlessAborted(() => api.create(resource, object)),
    dryRunCreate: (resource, object) => unlessAborted(() => api.dryRunCreate(resource, object)),
    replace: (...parameters) => unlessAborted(() => api.replace(...parameters)),
    patch: (...parameters) => unlessAborted(() => api.patch(...parameters)),
    delete: (...parameters) => unlessAborted(() => api.delete(...parameters)),
    groups: () => unlessAborted(() => api.groups()),
    ...(api.serverTime !== undefined && { serverTime: () => api.serverTime?.() }),
    watch: (resource, query = {}) => api.watch(resource, { ...query, signal: either(signal, query.signal) }),
  };
}

const abortableClock = (clock: Clock, signal: AbortSignal): Clock => ({
  now: () => clock.now(),
  sleep: (milliseconds, other) => clock.sleep(milliseconds, either(signal, other)),
});

const either = (signal: AbortSignal, other: AbortSignal | undefined): AbortSignal =>
  other === undefined ? signal : AbortSignal.any([signal, other]);

/** Rejects with the reason of the signal when it is aborted. */
const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
