import type { Stored } from '../../../src/kubernetes/object.ts';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { KubernetesApi } from '../../../src/kubernetes/api.ts';
import type { Clock } from '../../../src/platform/clock.ts';
import type {
  Pod,
  Container,
  ContainerState,
  ContainerStatus,
  PodCondition,
  PodStatus,
} from '../../../src/kubernetes/types/pod.ts';
import { pods } from '../../../src/kubernetes/resources.ts';
import { EventRecorder, involved } from '../../../src/kubernetes/controllers/event-recorder.ts';
import { Informer, keyOf } from '../../../src/kubernetes/controllers/informer.ts';
import { WorkQueue } from '../../../src/kubernetes/controllers/work-queue.ts';
import { timestamp } from '../../../src/kubernetes/timestamp.ts';
import { isTerminal } from '../../controllers/volumes/pod-claims.ts';
import { addressAnnotation } from '../../node/pods/pod-addresses.ts';

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

/** The pods of all simulated nodes. */
export class SimulatedPods {
  readonly #options: SimulatedPodsOptions;
  readonly #pods: Informer<Pod>;
  readonly #queue: WorkQueue;
  readonly #events: EventRecorder;
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: SimulatedPodsOptions) {
    this.#options = options;
    this.#pods = new Informer<Pod>(options.api, pods, options);
    this.#queue = new WorkQueue('simulated pods', (key) => this.#reconcile(key), {
      ...options,
      random: () => 0,
    });
    this.#events = new EventRecorder({ ...options, component: 'kubelet', host: 'simulated' });
    this.#pods.onChange(({ key, before, after }) => {
      if (after === undefined && before !== undefined) this.#release(before);
      this.#queue.add(key);
    });
  }

  /** Serves the pods until `stop`. Resolves when the addresses of pods from an earlier run are reserved. */
  async start(): Promise<void> {
    const watching = this.#pods.run();
    await this.#pods.synced;
    for (const pod of this.#pods.list()) this.#reserveAddress(pod);
    this.#running = Promise.all([watching, this.#queue.run()]);
  }

  async stop(): Promise<void> {
    this.#pods.stop();
    this.#queue.stop();
    await this.#running;
    await this.#events.flush();
  }

  /** Reconciles all pods. Needed after a node was resumed: its pods may not change by themselves. */
  reconcileAll(): void {
    for (const pod of this.#pods.list()) this.#queue.add(keyOf(pod));
  }

  #hostOf({ spec }: Pod): PodHost | undefined {
    return this.#options.hostOf(spec.nodeName ?? '');
  }

  /** Reserves the address of a pod from an earlier run, before any new pod requests it. */
  #reserveAddress(pod: Stored<Pod>): void {
    const { uid } = pod.metadata;
    const address = pod.status?.podIP;
    if (this.#hostOf(pod) === undefined || pod.spec.hostNetwork === true || address === undefined) return;
    this.#options.addresses.take(uid, address);
  }

  /** Releases the pod's address and retries pods that wait for it. */
  #release(pod: Stored<Pod>): void {
    if (this.#hostOf(pod) === undefined) return;
    this.#options.addresses.release(pod.metadata.uid);
    const requested = pod.metadata.annotations?.[addressAnnotation];
    if (requested === undefined) return;
    for (const waiting of this.#pods.list()) {
      if (waiting.metadata.annotations?.[addressAnnotation] === requested) this.#queue.add(keyOf(waiting));
    }
  }

  /** 404 and 409 are ignored: a later change of the pod adds it to the queue again. */
  async #reconcile(key: string): Promise<void> {
    const pod = this.#pods.get(key);
    const host = pod === undefined ? undefined : this.#hostOf(pod);
    if (pod === undefined || host === undefined || host.isFrozen) return;
    try {
      if (pod.metadata.deletionTimestamp !== undefined) await this.#end(pod);
      else if (!isReported(pod) && !isTerminal(pod)) await this.#run(pod, host);
    } catch (error) {
      if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
    }
  }

  async #end({ metadata: { namespace, name, uid } }: Stored<Pod>): Promise<void> {
    const deletion = { gracePeriodSeconds: 0, preconditions: { uid } };
    await this.#options.api.delete({ resource: pods, namespace, name }, deletion);
  }

  async #run(pod: Stored<Pod>, { address: nodeAddress }: PodHost): Promise<void> {
    const { namespace, name, uid, resourceVersion, annotations } = pod.metadata;
    const { api, clock, addresses } = this.#options;
    const requested = annotations?.[addressAnnotation] ?? pod.status?.podIP;
    const podAddress = pod.spec.hostNetwork === true ? nodeAddress : addresses.take(uid, requested);
    const now = timestamp(clock.now());
    if (podAddress === undefined) {
      // The waiting pod has this reason already.
      if (pod.status?.containerStatuses !== undefined) return;
      const message = `Failed to create pod sandbox: address ${requested ?? ''} is in use by another pod`;
      this.#events.record(involved('Pod', pod), {
        type: 'Warning',
        reason: 'FailedCreatePodSandBox',
        message,
      });
    }
    const status = simulatedPodStatus(pod, { nodeAddress, podAddress, now });
    await api.patch(
      { resource: pods, namespace, name },
      { metadata: { uid, resourceVersion }, status },
      { subresource: 'status' },
    );
  }
}

export interface SimulatedFacts {
  readonly nodeAddress: string;
  /** Undefined: the address that the pod requests is taken. */
  readonly podAddress: string | undefined;
  /** A Kubernetes timestamp. */
  readonly now: string;
}

/**
 * Returns the status that a kubelet reports for a pod whose init containers succeeded and whose containers
 * run, or for a pod that waits. Pure.
 */
export function simulatedPodStatus(pod: Pod, facts: SimulatedFacts): PodStatus {
  const { nodeAddress: hostIP, podAddress: podIP, now } = facts;
  const runs = podIP !== undefined;
  const ended = { terminated: { exitCode: 0, reason: 'Completed', startedAt: now, finishedAt: now } };
  const running = { running: { startedAt: now } };
  const waiting = { waiting: { reason: 'ContainerCreating' } };
  const inits = pod.spec.initContainers ?? [];
  return {
    phase: runs ? 'Running' : 'Pending',
    conditions: conditions(pod, runs, now),
    hostIP,
    hostIPs: [{ ip: hostIP }],
    ...(podIP !== undefined && { podIP, podIPs: [{ ip: podIP }] }),
    startTime: pod.status?.startTime ?? now,
    ...(inits.length > 0 && {
      initContainerStatuses: inits.map((container) => statusOf(container, runs ? ended : waiting)),
    }),
    containerStatuses: pod.spec.containers.map((container) => statusOf(container, runs ? running : waiting)),
  };
}

/** Returns true if a pod has the status that `simulatedPodStatus` would return. */
export function isReported({ status }: Pod): boolean {
  return (
    status?.phase === 'Running' &&
    status.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') === true
  );
}

function conditions(pod: Pod, runs: boolean, now: string): PodCondition[] {
  const own = ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady'].map((type) => ({
    type,
    status: runs ? ('True' as const) : ('False' as const),
    lastProbeTime: null,
    lastTransitionTime: now,
  }));
  const others = (pod.status?.conditions ?? []).filter(
    ({ type }) => !own.some((condition) => condition.type === type),
  );
  return [...own, ...others];
}

function statusOf({ name, image }: Container, state: ContainerState): ContainerStatus {
  const started = state.waiting === undefined;
  return {
    name,
    image,
    imageID: started ? `simulated://${image}` : '',
    ...(started && { containerID: `simulated://${name}` }),
    ready: started,
    started: state.running !== undefined,
    restartCount: 0,
    state,
  };
}

/** Addresses of simulated nodes and pods: 198.18.0.0/15, which no network routes (RFC 2544). */
const first = 0xc6120000;
const size = 0x20000;

const toText = (value: number): string => [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.');

/** The addresses of the simulated pods. */
export class SimulatedAddresses {
  readonly #owners = new Map<string, string>();
  readonly #addresses = new Map<string, string>();
  #next = 1;

  /**
   * Returns the address that the pod requests, has or can have. Returns undefined if another pod has the
   * requested address. Idempotent.
   */
  take(uid: string, requested: string | undefined): string | undefined {
    const address = requested ?? this.#addresses.get(uid) ?? this.#free();
    const owner = this.#owners.get(address) ?? uid;
    if (owner !== uid) return undefined;
    this.#owners.set(address, uid);
    this.#addresses.set(uid, address);
    return address;
  }

  release(uid: string): void {
    const address = this.#addresses.get(uid);
    if (address === undefined) return;
    this.#addresses.delete(uid);
    this.#owners.delete(address);
  }

  /** Finds a free address round robin, so that a released address is not used again soon. */
  #free(): string {
    for (let tried = 0; tried < size; tried += 1) {
      const address = toText(first + this.#next);
      this.#next = (this.#next % (size - 2)) + 1;
      if (!this.#owners.has(address)) return address;
    }
    throw new Error('no free address in 198.18.0.0/15');
  }
}
