import type { EventEmitter } from 'node:events';
import type { ObjectList } from '../../src/kubernetes/object.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { pods } from '../../src/kubernetes/resources.ts';
import { ContainerConsole } from './console/container-console.ts';
import { toApiPath } from './paths-in-objects.ts';
import type { ExecRequest, ExecSession, LogRequest, PodConsole } from './pod-console.ts';
import { isPodAddress } from './pods/pod-addresses.ts';
import type { PodServices } from './pods/pod-services.ts';
import { PodWorker } from './pods/pod-worker.ts';
import type { VolumeProvisioner, VolumeSource } from './volume-provisioner.ts';

export interface EmbeddedNodeParts {
  readonly services: Omit<PodServices, 'stopping'>;
  readonly persistentVolumes: VolumeProvisioner;
  readonly logChanges: EventEmitter;
}

/**
 * The machine of the embedded cluster: runs the pods that are bound to its nodes (several Node objects may be
 * this machine), and serves their logs and exec requests.
 */
export class EmbeddedNode implements PodConsole, VolumeProvisioner {
  readonly #services: PodServices;
  readonly #persistentVolumes: VolumeProvisioner;
  readonly #console: ContainerConsole;
  readonly #workers = new Map<string, PodWorker>();
  readonly #stopping = new AbortController();
  #watching: Promise<void> = Promise.resolve();

  constructor(parts: EmbeddedNodeParts) {
    this.#services = { ...parts.services, stopping: this.#stopping.signal };
    this.#persistentVolumes = parts.persistentVolumes;
    this.#console = new ContainerConsole((namespace, name) => this.#find(namespace, name), parts.logChanges);
  }

  logs(request: LogRequest): AsyncIterable<Uint8Array> {
    return this.#console.logs(request);
  }

  exec(request: ExecRequest): Promise<ExecSession> {
    return this.#console.exec(request);
  }

  async provision(volumeName: string, source?: VolumeSource): Promise<string> {
    return toApiPath(this.#services.layout, await this.#persistentVolumes.provision(volumeName, source));
  }

  takeSnapshot(handle: string, volumeName: string): Promise<void> {
    return this.#persistentVolumes.takeSnapshot(handle, volumeName);
  }

  removeSnapshot(handle: string): Promise<void> {
    return this.#persistentVolumes.removeSnapshot(handle);
  }

  modify(volumeName: string, parameters: Readonly<Record<string, string>>): Promise<void> {
    return this.#persistentVolumes.modify(volumeName, parameters);
  }

  remove(volumeName: string): Promise<void> {
    return this.#persistentVolumes.remove(volumeName);
  }

  /** Removes the remains of pods that no longer exist, then runs the pods of this node until `stop`. */
  async start(): Promise<void> {
    const { items, metadata } = await this.#list();
    for (const pod of items) {
      this.#rememberAddress(pod);
    }
    await this.#removeOrphans(new Set(items.map((pod) => pod.metadata.uid)));
    for (const pod of items) {
      this.#addPod(pod);
    }
    this.#watching = this.#follow(metadata.resourceVersion);
  }

  /**
   * Stops all containers, with SIGTERM and, after `grace` milliseconds or their pod's grace period, whichever
   * is shorter, with SIGKILL. Their pods stay in the API and run again at the next start.
   */
  async stop(grace: number): Promise<void> {
    this.#stopping.abort();
    for (const worker of this.#workers.values()) {
      const { terminationGracePeriodSeconds = 30 } = worker.pod.spec;
      worker.terminate('node-stopped', Math.min(grace, terminationGracePeriodSeconds * 1000));
    }
    await Promise.all([...this.#workers.values()].map((worker) => worker.done));
    await this.#watching;
    await this.#services.events.settled();
  }

  #find(namespace: string, name: string): PodWorker | undefined {
    const named = [...this.#workers.values()].filter(
      ({ pod: { metadata } }) => metadata.namespace === namespace && metadata.name === name,
    );
    return named.find((worker) => !worker.isRemoved);
  }

  async #list(): Promise<ObjectList<Pod>> {
    const list = await this.#services.api.list<Pod>(pods, this.#query());
    return { ...list, items: list.items.filter((pod) => this.#isScheduledHere(pod)) };
  }

  /**
   * A field selector takes only one name. A machine with several names watches the pods of all nodes and
   * ignores those of other machines.
   */
  #query(): { readonly fieldSelector?: string } {
    const [name, ...more] = this.#services.nodeNames;
    return name === undefined || more.length > 0 ? {} : { fieldSelector: `spec.nodeName=${name}` };
  }

  #isScheduledHere({ spec }: Pod): boolean {
    return this.#services.nodeNames.includes(spec.nodeName ?? '');
  }

  /** Reserves the addresses of pods from an earlier run of the node, before any new pod requests one. */
  #rememberAddress(pod: Pod): void {
    const { uid } = pod.metadata;
    const { podIP, phase } = pod.status ?? {};
    if (uid !== undefined && podIP !== undefined && isPodAddress(podIP) && !isTerminalPhase(phase)) {
      this.#services.addresses.reserve(podIP, uid);
    }
  }

  async #removeOrphans(uids: ReadonlySet<string | undefined>): Promise<void> {
    for (const uid of await this.#services.volumes.mountedVolumes()) {
      if (!uids.has(uid)) {
        await this.#services.volumes.tearDown(uid).catch(this.#services.onError);
      }
    }
  }

  async #follow(resourceVersion: string): Promise<void> {
    let from = resourceVersion;
    while (!this.#stopping.signal.aborted) {
      try {
        await this.#watch(from);
        from = await this.#resynchronize();
      } catch (error) {
        this.#services.onError(error);
        await this.#services.clock.sleep(500, this.#stopping.signal);
      }
    }
  }

  /** Handles events until the server ends the watch, which it may do at any time. */
  async #watch(resourceVersion: string): Promise<void> {
    const query = { ...this.#query(), resourceVersion, signal: this.#stopping.signal };
    for await (const event of this.#services.api.watch<Pod>(pods, query)) {
      switch (event.type) {
        case 'ADDED':
        case 'MODIFIED':
          if (this.#isScheduledHere(event.object)) this.#addPod(event.object);
          break;
        case 'DELETED':
          this.#removePod(event.object.metadata.uid);
          break;
        case 'BOOKMARK':
          break;
        case 'ERROR':
          return;
      }
    }
  }

  async #resynchronize(): Promise<string> {
    const { items, metadata } = await this.#list();
    const present = new Set(items.map((pod) => pod.metadata.uid));
    for (const uid of this.#workers.keys()) {
      if (!present.has(uid)) {
        this.#removePod(uid);
      }
    }
    for (const pod of items) {
      this.#addPod(pod);
    }
    return metadata.resourceVersion;
  }

  #addPod(pod: Pod): void {
    const { uid } = pod.metadata;
    if (uid === undefined || this.#stopping.signal.aborted) {
      return;
    }
    const worker = this.#workers.get(uid);
    if (worker === undefined) {
      this.#workers.set(uid, new PodWorker(pod, this.#services));
    } else {
      worker.update(pod);
    }
  }

  /** Kills all that still runs of a pod whose object was deleted. */
  #removePod(uid: string | undefined): void {
    const worker = uid === undefined ? undefined : this.#workers.get(uid);
    if (worker !== undefined) {
      worker.terminate('removed', 0);
      void worker.done.then(() => this.#workers.delete(worker.uid));
    }
  }
}

const isTerminalPhase = (phase: string | undefined): boolean => phase === 'Succeeded' || phase === 'Failed';
