import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { KubernetesApi } from '../../../src/kubernetes/api.ts';
import type { Clock } from '../../../src/platform/clock.ts';
import type { Node } from '../../../src/kubernetes/types/node.ts';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { nodes, pods } from '../../../src/kubernetes/resources.ts';
import { createOrUpdateNode } from '../node-object.ts';
import type { NodeArgument } from '../parse-node.ts';
import type { ExecRequest, ExecSession, LogRequest, PodConsole } from '../pod-console.ts';
import { timestamp } from '../pods/events.ts';
import { renewLease } from './heartbeat.ts';
import { SimulatedAddresses } from './simulated-addresses.ts';
import { simulatedConsole, unreachable } from './simulated-console.ts';
import { simulatedNodeObject, simulatedNodeStatus } from './simulated-node-object.ts';
import { SimulatedPods } from './simulated-pods.ts';

export interface SimulatedNodesOptions {
  readonly api: KubernetesApi;
  readonly nodes: readonly NodeArgument[];
  readonly clock: Clock;
  /** Serves the pods of other nodes; absent if there are none. */
  readonly fallbackConsole?: PodConsole;
  /**
   * Serves logs and exec requests in place of the containers, which do not run; absent: the requests are
   * rejected.
   */
  readonly console?: PodConsole;
  /** Milliseconds between renewals of the nodes' leases; kubelet's 10 s if absent. */
  readonly heartbeat?: number;
  readonly onError: (error: unknown) => void;
}

interface SimulatedNode {
  readonly node: NodeArgument;
  readonly address: string;
  isFrozen: boolean;
}

/**
 * Nodes that report status and run nothing: pods that are bound to them become Running and Ready with an
 * address, and are removed when they are deleted.
 */
export class SimulatedNodes implements PodConsole {
  readonly #options: SimulatedNodesOptions;
  readonly #known: ReadonlyMap<string, SimulatedNode>;
  readonly #pods: SimulatedPods;
  readonly #stopping = new AbortController();
  #loops: Promise<unknown> = Promise.resolve();

  constructor(options: SimulatedNodesOptions) {
    this.#options = options;
    const addresses = new SimulatedAddresses();
    this.#known = new Map(
      options.nodes.map((node) => [
        node.name,
        { node, address: addresses.take(node.name, undefined) ?? '', isFrozen: false },
      ]),
    );
    this.#pods = new SimulatedPods({ ...options, addresses, hostOf: (name) => this.#known.get(name) });
  }

  /** Registers the nodes and serves their pods until `stop`. */
  async start(): Promise<void> {
    for (const name of this.#known.keys()) await this.#register(name);
    const version = await this.#pods.resynchronize();
    this.#loops = Promise.all([this.#pods.follow(version, this.#stopping.signal), this.#renewLeases()]);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#loops;
  }

  /** Stops the node's heartbeat and all work for its pods, as after a power failure. */
  stopHeartbeat(name: string): void {
    this.#of(name).isFrozen = true;
  }

  /**
   * Resumes the node's heartbeat: it reports itself as ready, registers again if it was deleted, and serves
   * its present pods.
   */
  async resumeHeartbeat(name: string): Promise<void> {
    this.#of(name).isFrozen = false;
    await this.#register(name);
    await this.#pods.resynchronize();
  }

  async *logs(request: LogRequest): AsyncIterable<Uint8Array> {
    yield* (await this.#consoleOf(request)).logs(request);
  }

  async exec(request: ExecRequest): Promise<ExecSession> {
    return (await this.#consoleOf(request)).exec(request);
  }

  async #consoleOf({ namespace, pod: name }: ExecRequest | LogRequest): Promise<PodConsole> {
    const { api, fallbackConsole = simulatedConsole, console = simulatedConsole } = this.#options;
    const pod = await api.get<Pod>({ resource: pods, namespace, name });
    const known = this.#known.get(pod.spec.nodeName ?? '');
    if (known === undefined) return fallbackConsole;
    if (known.isFrozen) throw unreachable(known.address);
    return console;
  }

  #of(name: string): SimulatedNode {
    const known = this.#known.get(name);
    if (known === undefined) throw new Error(`there is no simulated node ${name}`);
    return known;
  }

  async #register(name: string): Promise<void> {
    const { node, address } = this.#of(name);
    const { api, clock } = this.#options;
    const status = simulatedNodeStatus(node, address, timestamp(clock.now()));
    await createOrUpdateNode(api, simulatedNodeObject(node), status);
    await renewLease(api, name, clock.now());
  }

  async #renewLeases(): Promise<void> {
    const { clock, heartbeat = 10_000, onError } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await clock.sleep(heartbeat, signal);
      for (const [name, { isFrozen }] of this.#known) {
        if (!isFrozen && !signal.aborted) await this.#patchStatus(name).catch(onError);
      }
    }
  }

  /** Renews the lease and restores a changed status, as kubelet does. A deleted node stays deleted. */
  async #patchStatus(name: string): Promise<void> {
    const { api, clock } = this.#options;
    try {
      const { status } = await api.get<Node>({ resource: nodes, name });
      const ready = status?.conditions?.find(({ type }) => type === 'Ready');
      await (ready?.status === 'True' ? renewLease(api, name, clock.now()) : this.#register(name));
    } catch (error) {
      if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
    }
  }
}
