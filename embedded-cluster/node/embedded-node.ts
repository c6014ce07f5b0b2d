import type { Stored } from '../../src/kubernetes/object.ts';
import type { EventEmitter } from 'node:events';
import { type Change, Informer } from '../../src/kubernetes/controllers/informer.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import { pods } from '../../src/kubernetes/resources.ts';
import { ContainerConsole } from './container-console.ts';
import { toApiPath } from './node-paths.ts';
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
  readonly #pods: Informer<Pod>;
  #isStarted = false;
  #watching: Promise<void> = Promise.resolve();

  constructor(parts: EmbeddedNodeParts) {
    this.#services = { ...parts.services, stopping: this.#stopping.signal };
    this.#persistentVolumes = parts.persistentVolumes;
    const { api, clock, onError } = this.#services;
    this.#pods = new Informer<Pod>(api, pods, { clock, onError }, this.#query());
    this.#pods.onChange((change) => this.#applyChange(change));
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
    this.#watching = this.#pods.run();
    await this.#pods.synced;
    const present = this.#podsHere();
    for (const pod of present) {
      this.#rememberAddress(pod);
    }
    await this.#removeOrphans(new Set(present.map((pod) => pod.metadata.uid)));
    this.#isStarted = true;
    for (const pod of this.#podsHere()) {
      this.#addPod(pod);
    }
  }

  /**
   * Stops all containers, with SIGTERM and, after `grace` milliseconds or their pod's grace period, whichever
   * is shorter, with SIGKILL. Their pods stay in the API and run again at the next start.
   */
  async stop(grace: number): Promise<void> {
    this.#stopping.abort();
    this.#pods.stop();
    for (const worker of this.#workers.values()) {
      const { terminationGracePeriodSeconds = 30 } = worker.pod.spec;
      worker.terminate('node-stopped', Math.min(grace, terminationGracePeriodSeconds * 1000));
    }
    await Promise.all([...this.#workers.values()].map((worker) => worker.done));
    await this.#watching;
    await this.#services.events.flush();
  }

  #find(namespace: string, name: string): PodWorker | undefined {
    const named = [...this.#workers.values()].filter(
      ({ pod: { metadata } }) => metadata.namespace === namespace && metadata.name === name,
    );
    return named.find((worker) => !worker.isRemoved);
  }

  #podsHere(): Stored<Pod>[] {
    return this.#pods.list().filter((pod) => this.#isScheduledHere(pod));
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
  #rememberAddress(pod: Stored<Pod>): void {
    const { uid } = pod.metadata;
    const { podIP, phase } = pod.status ?? {};
    if (podIP !== undefined && isPodAddress(podIP) && !isTerminalPhase(phase)) {
      this.#services.addresses.reserve(podIP, uid);
    }
  }

  async #removeOrphans(uids: ReadonlySet<string>): Promise<void> {
    for (const uid of await this.#services.volumes.mountedVolumes()) {
      if (!uids.has(uid)) {
        await this.#services.volumes.tearDown(uid).catch(this.#services.onError);
      }
    }
  }

  /** Before `start` has removed the remains of deleted pods, changes only update the cache. */
  #applyChange({ before, after }: Change<Pod>): void {
    if (!this.#isStarted) return;
    if (after === undefined) this.#removePod(before?.metadata.uid);
    else if (this.#isScheduledHere(after)) this.#addPod(after);
  }

  #addPod(pod: Stored<Pod>): void {
    const { uid } = pod.metadata;
    if (this.#stopping.signal.aborted) return;
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
