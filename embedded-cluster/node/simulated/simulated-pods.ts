import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { KubernetesApi } from '../../../src/kubernetes/api.ts';
import type { Clock } from '../../../src/platform/clock.ts';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { pods } from '../../../src/kubernetes/resources.ts';
import { EventRecorder, timestamp } from '../pods/events.ts';
import { addressAnnotation } from '../pods/pod-addresses.ts';
import type { SimulatedAddresses } from './simulated-addresses.ts';
import { isReported, simulatedPodStatus } from './simulated-pod-status.ts';

/** A simulated node as its pods see it. */
export interface PodHost {
  readonly address: string;
  readonly isFrozen: boolean;
}

export interface SimulatedPodsOptions {
  readonly api: KubernetesApi;
  readonly clock: Clock;
  readonly addresses: SimulatedAddresses;
  /** Returns undefined for a node that is not simulated. */
  readonly hostOf: (nodeName: string) => PodHost | undefined;
  readonly onError: (error: unknown) => void;
}

/**
 * The pods of all simulated nodes. One watch serves them, and only the address of each pod is kept in memory.
 */
export class SimulatedPods {
  readonly #options: SimulatedPodsOptions;
  readonly #events: EventRecorder;

  constructor(options: SimulatedPodsOptions) {
    this.#options = options;
    const { api, clock, onError } = options;
    this.#events = new EventRecorder(api, clock, 'simulated', onError);
  }

  /** Brings all pods up to date. Returns the version from which to `follow`. */
  async resynchronize(): Promise<string> {
    const { items, metadata } = await this.#options.api.list<Pod>(pods);
    for (const pod of items) this.#remember(pod);
    for (const pod of items) await this.#sync(pod);
    return metadata.resourceVersion;
  }

  /** Handles changes until the signal aborts. */
  async follow(resourceVersion: string, signal: AbortSignal): Promise<void> {
    const { clock, onError } = this.#options;
    let from = resourceVersion;
    while (!signal.aborted) {
      try {
        await this.#watch(from, signal);
        if (!signal.aborted) from = await this.resynchronize();
      } catch (error) {
        onError(error);
        await clock.sleep(500, signal);
      }
    }
    await this.#events.settled();
  }

  /** Handles events until the server ends the watch, which it may do at any time. */
  async #watch(resourceVersion: string, signal: AbortSignal): Promise<void> {
    for await (const event of this.#options.api.watch<Pod>(pods, { resourceVersion, signal })) {
      if (event.type === 'ERROR') return;
      if (event.type === 'DELETED') await this.#release(event.object);
      else if (event.type !== 'BOOKMARK') await this.#sync(event.object);
    }
  }

  #hostOf({ spec }: Pod): PodHost | undefined {
    return this.#options.hostOf(spec.nodeName ?? '');
  }

  /** Reserves the addresses of pods from an earlier run, before any new pod requests one. */
  #remember(pod: Pod): void {
    const { uid = '' } = pod.metadata;
    const address = pod.status?.podIP;
    if (this.#hostOf(pod) === undefined || pod.spec.hostNetwork === true || address === undefined) return;
    this.#options.addresses.take(uid, address);
  }

  /** Releases the pod's address and retries pods that wait for it. */
  async #release(pod: Pod): Promise<void> {
    if (this.#hostOf(pod) === undefined) return;
    const { api, addresses } = this.#options;
    addresses.release(pod.metadata.uid ?? '');
    const wanted = pod.metadata.annotations?.[addressAnnotation];
    if (wanted === undefined) return;
    const { items } = await api.list<Pod>(pods, { fieldSelector: 'status.phase=Pending' });
    for (const waiting of items) {
      if (waiting.metadata.annotations?.[addressAnnotation] === wanted) await this.#sync(waiting);
    }
  }

  /** Brings one pod up to date. 404 and 409 are ignored: a later event handles the pod. */
  async #sync(pod: Pod): Promise<void> {
    const host = this.#hostOf(pod);
    if (host === undefined || host.isFrozen) return;
    try {
      if (pod.metadata.deletionTimestamp !== undefined) await this.#end(pod);
      else if (!isReported(pod) && !isOver(pod)) await this.#run(pod, host);
    } catch (error) {
      if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
    }
  }

  async #end({ metadata: { namespace = '', name = '', uid = '' } }: Pod): Promise<void> {
    const deletion = { gracePeriodSeconds: 0, preconditions: { uid } };
    await this.#options.api.delete({ resource: pods, namespace, name }, deletion);
  }

  async #run(pod: Pod, { address: nodeAddress }: PodHost): Promise<void> {
    const { namespace = '', name = '', uid = '', resourceVersion, annotations } = pod.metadata;
    const { api, clock, addresses } = this.#options;
    const wanted = annotations?.[addressAnnotation] ?? pod.status?.podIP;
    const podAddress = pod.spec.hostNetwork === true ? nodeAddress : addresses.take(uid, wanted);
    const now = timestamp(clock.now());
    if (podAddress === undefined) {
      // The waiting pod has this reason already.
      if (pod.status?.containerStatuses !== undefined) return;
      const message = `Failed to create pod sandbox: address ${wanted ?? ''} is in use by another pod`;
      this.#events.record(pod, { type: 'Warning', reason: 'FailedCreatePodSandBox', message });
    }
    const status = simulatedPodStatus(pod, { nodeAddress, podAddress, now });
    await api.patch(
      { resource: pods, namespace, name },
      { metadata: { uid, resourceVersion }, status },
      { subresource: 'status' },
    );
  }
}

const isOver = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';
