import type { Stored } from '../../../src/kubernetes/object.ts';
import { involved } from '../../../src/kubernetes/controllers/event-recorder.ts';
import { join } from 'node:path';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { Container, Pod } from '../../../src/kubernetes/types/pod.ts';
import { pods } from '../../../src/kubernetes/resources.ts';
import { safeRemove } from '../../../src/platform/safe-remove.ts';
import type { ContainerExit } from '../runtime/container-runtime.ts';
import { closeNamespaces } from '../runtime/user-namespace.ts';
import { retryUntilAborted } from './back-off.ts';
import { type PodContext, apiEnvironment } from './container-plan.ts';
import { ContainerRunner } from './container-runner.ts';
import { PodContainer } from './pod-container.ts';
import { renewTokens } from './token-renewal.ts';
import { waitForFreeAddress } from './pod-addresses.ts';
import { aborted, PodEnding, type EndReason } from './pod-termination.ts';
import type { PodServices } from './pod-services.ts';
import { hasBidirectionalMount } from './container-security.ts';
import { PodStatusPublisher } from './pod-status-publisher.ts';
import { deleteSame } from '../../../src/kubernetes/controllers/conditional-writes.ts';
import { findUnsupported } from './unsupported.ts';

const maxHostnameLength = 63;

/** Runs one pod from its arrival on the node until no process, mount or file of it is left. */
export class PodWorker {
  readonly uid: string;
  /** Never rejects; resolves when the node has finished its work for the pod. */
  readonly done: Promise<void>;
  readonly #services: PodServices;
  readonly #ending: PodEnding;
  readonly #runners = new Map<string, ContainerRunner>();
  readonly #status: PodStatusPublisher;
  #pod: Stored<Pod>;

  constructor(pod: Stored<Pod>, services: PodServices) {
    this.uid = pod.metadata.uid;
    this.#pod = pod;
    this.#services = services;
    this.#ending = new PodEnding(services.clock);
    this.#status = new PodStatusPublisher(pod, services);
    this.done = this.#run().catch(services.onError);
  }

  get pod(): Stored<Pod> {
    return this.#pod;
  }

  /** Returns the runner of this container; `undefined` if it was not started yet in this run of the node. */
  runner(container: string): ContainerRunner | undefined {
    return this.#runners.get(container);
  }

  /** The pod's object was deleted; another pod of that name may exist. */
  get isRemoved(): boolean {
    return this.#ending.reason === 'removed';
  }

  containerNames(): string[] {
    return this.#containers().map((container) => container.name);
  }

  /** Takes a newer version of the pod's object. */
  update(pod: Stored<Pod>): void {
    this.#pod = pod;
    if (pod.metadata.deletionTimestamp !== undefined) {
      const seconds = pod.metadata.deletionGracePeriodSeconds ?? 30;
      this.#ending.request('deleted', seconds * 1000);
    }
  }

  /** Ends the pod, because its object was deleted or the node stops. `grace` in milliseconds. */
  terminate(reason: EndReason, grace: number): void {
    this.#ending.request(reason, grace);
  }

  async #run(): Promise<void> {
    this.update(this.#pod);
    const { phase } = this.#pod.status ?? {};
    const over = phase === 'Succeeded' || phase === 'Failed';
    if (!over && !this.#ending.signal.aborted) {
      await this.#runPod();
    }
    if (this.#ending.reason === undefined) {
      await this.#unmountVolumes();
      await aborted(this.#ending.signal);
    }
    if (this.#ending.reason !== 'node-stopped') {
      await this.#complete(over);
    }
    this.#services.addresses.release(this.uid);
  }

  /** Runs the pod until all containers have ended and are not restarted, or the pod must end. */
  async #runPod(): Promise<void> {
    const problem = findUnsupported(this.#pod, this.#services.ids) ?? this.#findUnrecoverable();
    if (problem !== undefined) {
      this.#warn('UnsupportedByNode', problem);
      await this.#status.fail('UnsupportedByNode', problem);
      return;
    }
    const context = await this.#prepare();
    if (context === undefined) {
      return;
    }
    const over = new AbortController();
    const fresh = renewTokens(this.#pod, this.#services, over.signal);
    try {
      if (await this.#runInitContainers(context)) {
        const { restartPolicy = 'Always' } = this.#pod.spec;
        const again = ({ exitCode }: ContainerExit): boolean =>
          restartPolicy === 'Always' || (restartPolicy === 'OnFailure' && exitCode !== 0);
        await Promise.all(
          this.#pod.spec.containers.map((container) => this.#runner(container, context).run(again)),
        );
      }
    } finally {
      over.abort();
      await fresh;
      if (context.namespaces !== undefined) closeNamespaces(context.namespaces);
    }
  }

  /**
   * Returns the reason if the pod cannot run on: a pod that is never restarted does not survive a restart of
   * the node (kuberuntime: computePodActions).
   */
  #findUnrecoverable(): string | undefined {
    return this.#pod.spec.restartPolicy === 'Never' && this.#status.ranBefore
      ? 'the node was restarted while the pod ran, and its restartPolicy is Never'
      : undefined;
  }

  /**
   * Sets up address, volumes and namespaces, with retries until all exist. `undefined`: the pod must end
   * before.
   */
  async #prepare(): Promise<PodContext | undefined> {
    const volumes = await this.#retry('FailedMount', () => this.#services.volumes.setUp(this.#pod));
    const address = await this.#retry('FailedCreatePodSandBox', () =>
      waitForFreeAddress(this.#pod, this.#services.addresses),
    );
    if (volumes === undefined || address === undefined) {
      return undefined;
    }
    const environment = await this.#retry('FailedCreatePodSandBox', async () => {
      const server = await this.#services.apiServer;
      return server === undefined ? new Map<string, string>() : apiEnvironment(server);
    });
    if (environment === undefined) return undefined;
    const namespaces = hasBidirectionalMount(this.#pod)
      ? undefined
      : await this.#retry('FailedCreatePodSandBox', () => this.#services.runtime.createPodNamespaces());
    this.#status.setSandboxReady(address);
    return this.#ending.signal.aborted
      ? (namespaces !== undefined && closeNamespaces(namespaces), undefined)
      : { hostname: this.#hostname(), address, volumes, namespaces, environment };
  }

  #hostname(): string {
    const { hostNetwork, hostname } = this.#pod.spec;
    const own = hostname ?? this.#pod.metadata.name;
    return hostNetwork === true
      ? (this.#pod.spec.nodeName ?? '')
      : own.slice(0, maxHostnameLength).replace(/[-.]+$/, '');
  }

  /** Tries until the attempt succeeds or the pod must end. Each failure becomes an event. */
  async #retry<T>(
    reason: 'FailedMount' | 'FailedCreatePodSandBox',
    attempt: () => Promise<T>,
  ): Promise<T | undefined> {
    const prefix = reason === 'FailedMount' ? 'MountVolume.SetUp failed' : 'Failed to create pod sandbox';
    const success = await retryUntilAborted(attempt, {
      clock: this.#services.clock,
      signal: this.#ending.signal,
      onFailure: (message) => {
        this.#warn(reason, `${prefix}: ${message}`);
        void this.#status.publish();
      },
    });
    return success?.result;
  }

  /**
   * Runs the init containers one after the other. Returns false if one failed permanently or the pod must
   * end.
   */
  async #runInitContainers(context: PodContext): Promise<boolean> {
    for (const container of this.#pod.spec.initContainers ?? []) {
      const again = ({ exitCode }: ContainerExit): boolean =>
        exitCode !== 0 && this.#pod.spec.restartPolicy !== 'Never';
      const exit = await this.#runner(container, context).run(again);
      if (exit?.exitCode !== 0 || this.#ending.signal.aborted) {
        return false;
      }
    }
    return true;
  }

  #runner(container: Container, context: PodContext): ContainerRunner {
    const owner = {
      pod: () => this.#pod,
      context,
      ending: this.#ending,
      publish: () => void this.#status.publish(),
    };
    const record = this.#status.record(container);
    const runner = new ContainerRunner(new PodContainer(container, record, owner, this.#services));
    this.#runners.set(container.name, runner);
    return runner;
  }

  /**
   * Removes the volumes and logs of the pod after its containers have ended, then deletes its object. If the
   * node stops, the object stays.
   */
  async #complete(over: boolean): Promise<void> {
    if (this.#ending.reason === 'deleted' && !over) {
      await this.#status.publish();
    }
    if (!(await this.#tearDown(() => this.#services.volumes.tearDown(this.uid)))) {
      return;
    }
    const { name, namespace } = this.#pod.metadata;
    await safeRemove(join(this.#services.layout.podLogs, `${namespace}_${name}_${this.uid}`));
    if (this.#ending.reason === 'deleted') {
      await this.#deleteObject();
    }
  }

  async #unmountVolumes(): Promise<void> {
    await this.#tearDown(() => this.#services.volumes.unmountAll(this.uid), this.#ending.signal);
  }

  /**
   * Retries with back-off, as kubelet does: the unmount fails while a process uses the mount. Returns false
   * if the signal aborts or the node stops before it succeeds.
   */
  async #tearDown(attempt: () => Promise<void>, signal?: AbortSignal): Promise<boolean> {
    const stop = AbortSignal.any([this.#services.stopping, ...(signal === undefined ? [] : [signal])]);
    const success = await retryUntilAborted(attempt, {
      clock: this.#services.clock,
      signal: stop,
      onFailure: (message) => this.#warn('FailedUnmount', `UnmountVolume.TearDown failed: ${message}`),
    });
    return success !== undefined;
  }

  async #deleteObject(): Promise<void> {
    try {
      await deleteSame(this.#services.api, pods, this.#pod, { gracePeriodSeconds: 0 });
    } catch (error) {
      // Another pod has the name.
      if (!isApiError(error, 409)) throw error;
    }
  }

  #containers(): Container[] {
    return [...(this.#pod.spec.initContainers ?? []), ...this.#pod.spec.containers];
  }

  #warn(reason: string, message: string): void {
    this.#services.events.record(involved('Pod', this.#pod), { type: 'Warning', reason, message });
  }
}
