import { isApiError } from '../../../kubernetes/api-error.ts';
import type { KubernetesApi } from '../../../kubernetes/api.ts';
import type { Clock } from '../../../kubernetes/clock.ts';
import type { Node } from '../../../kubernetes/node.ts';
import type { Pod } from '../../../kubernetes/pod.ts';
import { nodes, pods } from '../../../kubernetes/resources.ts';
import { putNode } from '../node-object.ts';
import type { ExecRequest, ExecSession, LogRequest, PodConsole } from '../pod-console.ts';
import { EventRecorder, timestamp } from '../pods/events.ts';
import { addressAnnotation } from '../pods/pod-addresses.ts';
import { renewLease } from './heartbeat.ts';
import { SimulatedAddresses } from './simulated-addresses.ts';
import { simulatedConsole, unreachable } from './simulated-console.ts';
import type { SimulatedNode } from './simulated-node-object.ts';
import { simulatedNodeObject, simulatedNodeStatus } from './simulated-node-object.ts';
import { isReported, simulatedPodStatus } from './simulated-pod-status.ts';

export interface SimulatedNodesOptions {
  readonly api: KubernetesApi;
  readonly nodes: readonly SimulatedNode[];
  readonly clock: Clock;
  /** Serves the pods of other nodes; absent: there are none. */
  readonly behind?: PodConsole;
  /** What answers for the containers that do not run; absent: an error that says so. */
  readonly console?: PodConsole;
  /** Milliseconds between renewals of the nodes' leases; kubelet's 10 s when absent. */
  readonly heartbeat?: number;
  readonly onError: (error: unknown) => void;
}

interface Known {
  readonly node: SimulatedNode;
  readonly address: string;
  isFrozen: boolean;
}

/**
 * Nodes that report status and run nothing: the pods bound to them become Running and Ready with an address, and go when
 * they are deleted. One watch serves them all, and nothing but its address is kept of a pod.
 */
export class SimulatedNodes implements PodConsole {
  readonly #options: SimulatedNodesOptions;
  readonly #known: ReadonlyMap<string, Known>;
  readonly #addresses = new SimulatedAddresses();
  readonly #events: EventRecorder;
  readonly #stopping = new AbortController();
  #loops: Promise<unknown> = Promise.resolve();

  constructor(options: SimulatedNodesOptions) {
    this.#options = options;
    const { api, clock, onError } = options;
    this.#events = new EventRecorder(api, clock, 'simulated', onError);
    this.#known = new Map(
      options.nodes.map((node) => [
        node.name,
        { node, address: this.#addresses.take(node.name, undefined) ?? '', isFrozen: false },
      ]),
    );
  }

  /** Registers the nodes and serves their pods until `stop`. */
  async start(): Promise<void> {
    for (const name of this.#known.keys()) await this.#report(name);
    const version = await this.#resynchronize();
    this.#loops = Promise.all([this.#follow(version), this.#beat()]);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loops;
    await this.#events.settled();
  }

  /** The node falls silent: no heartbeat, nothing is done for its pods, as after a power failure. */
  freeze(name: string): void {
    this.#of(name).isFrozen = true;
  }

  /** The node is back: it reports itself ready, registers again where it was deleted, and serves its pods as they are now. */
  async thaw(name: string): Promise<void> {
    this.#of(name).isFrozen = false;
    await this.#report(name);
    await this.#resynchronize();
  }

  async *logs(request: LogRequest): AsyncIterable<Uint8Array> {
    yield* (await this.#consoleOf(request)).logs(request);
  }

  async exec(request: ExecRequest): Promise<ExecSession> {
    return (await this.#consoleOf(request)).exec(request);
  }

  async #consoleOf({ namespace, pod: name }: ExecRequest | LogRequest): Promise<PodConsole> {
    const { api, behind = simulatedConsole, console = simulatedConsole } = this.#options;
    const pod = await api.get<Pod>({ resource: pods, namespace, name });
    const known = this.#known.get(pod.spec.nodeName ?? '');
    if (known === undefined) return behind;
    if (known.isFrozen) throw unreachable(known.address);
    return console;
  }

  #of(name: string): Known {
    const known = this.#known.get(name);
    if (known === undefined) throw new Error(`there is no simulated node ${name}`);
    return known;
  }

  async #report(name: string): Promise<void> {
    const { node, address } = this.#of(name);
    const { api, clock } = this.#options;
    const status = simulatedNodeStatus(node, address, timestamp(clock.now()));
    await putNode(api, simulatedNodeObject(node), status);
    await renewLease(api, name, clock.now());
  }

  async #beat(): Promise<void> {
    const { clock, heartbeat = 10_000, onError } = this.#options;
    while (!this.#stopping.signal.aborted) {
      await clock.sleep(heartbeat, this.#stopping.signal);
      for (const [name, { isFrozen }] of this.#known) {
        if (isFrozen || this.#stopping.signal.aborted) continue;
        await this.#say(name).catch(onError);
      }
    }
  }

  /** As kubelet: a lease renewed, and a status that somebody changed posted again. A deleted node stays deleted. */
  async #say(name: string): Promise<void> {
    const { api, clock } = this.#options;
    try {
      const { status } = await api.get<Node>({ resource: nodes, name });
      const ready = status?.conditions?.find(({ type }) => type === 'Ready');
      await (ready?.status === 'True' ? renewLease(api, name, clock.now()) : this.#report(name));
    } catch (error) {
      if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
    }
  }

  async #follow(resourceVersion: string): Promise<void> {
    const { api, clock, onError } = this.#options;
    const { signal } = this.#stopping;
    let from = resourceVersion;
    while (!signal.aborted) {
      try {
        for await (const event of api.watch<Pod>(pods, { resourceVersion: from, signal })) {
          if (event.type === 'ERROR') break;
          if (event.type === 'DELETED') await this.#release(event.object);
          else if (event.type !== 'BOOKMARK') await this.#sync(event.object);
        }
        if (!signal.aborted) from = await this.#resynchronize();
      } catch (error) {
        onError(error);
        await clock.sleep(500, signal);
      }
    }
  }

  async #resynchronize(): Promise<string> {
    const { items, metadata } = await this.#options.api.list<Pod>(pods);
    for (const pod of items) this.#remember(pod);
    for (const pod of items) await this.#sync(pod);
    return metadata.resourceVersion;
  }

  /** Addresses of an earlier life are their pods' before any new pod asks. */
  #remember({ metadata: { uid = '' }, spec, status }: Pod): void {
    if (this.#known.has(spec.nodeName ?? '') && spec.hostNetwork !== true && status?.podIP !== undefined)
      this.#addresses.take(uid, status.podIP);
  }

  /** Who waited for the address that is free now gets it. */
  async #release(pod: Pod): Promise<void> {
    if (!this.#known.has(pod.spec.nodeName ?? '')) return;
    this.#addresses.release(pod.metadata.uid ?? '');
    const wanted = pod.metadata.annotations?.[addressAnnotation];
    if (wanted === undefined) return;
    const { items } = await this.#options.api.list<Pod>(pods, { fieldSelector: 'status.phase=Pending' });
    for (const waiting of items) {
      if (waiting.metadata.annotations?.[addressAnnotation] === wanted) await this.#sync(waiting);
    }
  }

  /** A pod that changed or went meanwhile comes again, or is no more. */
  async #sync(pod: Pod): Promise<void> {
    const known = this.#known.get(pod.spec.nodeName ?? '');
    if (known === undefined || known.isFrozen) return;
    try {
      if (pod.metadata.deletionTimestamp !== undefined) await this.#end(pod);
      else if (!isReported(pod) && !isOver(pod)) await this.#run(pod, known);
    } catch (error) {
      if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
    }
  }

  async #end({ metadata: { namespace = '', name = '', uid = '' } }: Pod): Promise<void> {
    const options = { gracePeriodSeconds: 0, preconditions: { uid } };
    await this.#options.api.delete({ resource: pods, namespace, name }, options);
  }

  async #run(pod: Pod, { address: nodeAddress }: Known): Promise<void> {
    const { namespace = '', name = '', uid = '', resourceVersion, annotations } = pod.metadata;
    const { api, clock } = this.#options;
    const wanted = annotations?.[addressAnnotation] ?? pod.status?.podIP;
    const podAddress = pod.spec.hostNetwork === true ? nodeAddress : this.#addresses.take(uid, wanted);
    const now = timestamp(clock.now());
    if (podAddress === undefined) {
      if (pod.status?.containerStatuses !== undefined) return;
      const message = `Failed to create pod sandbox: address ${wanted ?? ''} is in use by another pod`;
      this.#events.record(pod, { type: 'Warning', reason: 'FailedCreatePodSandBox', message });
    }
    await api.patch(
      { resource: pods, namespace, name },
      {
        metadata: { uid, resourceVersion },
        status: simulatedPodStatus(pod, { nodeAddress, podAddress, now }),
      },
      { subresource: 'status' },
    );
  }
}

const isOver = ({ status }: Pod): boolean => status?.phase === 'Succeeded' || status?.phase === 'Failed';
