import type { Stored } from '../../../src/kubernetes/object.ts';
import type { KubernetesApi } from '../../../src/kubernetes/api.ts';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { Clock } from '../../../src/platform/clock.ts';
import type { Container, Pod, PodStatus } from '../../../src/kubernetes/types/pod.ts';
import { pods } from '../../../src/kubernetes/resources.ts';
import { timestamp } from '../../../src/kubernetes/timestamp.ts';
import { restoreState, type ContainerRecord } from './container-state.ts';
import { podStatus } from './pod-status.ts';

export interface PublisherOptions {
  readonly api: KubernetesApi;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

/**
 * Keeps the node's data about one pod and writes its status: always the latest one. A status that is outdated
 * before its write is skipped.
 */
export class PodStatusPublisher {
  readonly #options: PublisherOptions;
  readonly #pod: { readonly namespace: string; readonly name: string; readonly uid: string };
  readonly #startTime: string;
  readonly #records = new Map<string, ContainerRecord>();
  #address: string | undefined;
  #sandboxReady = false;
  #failure: { readonly reason: string; readonly message: string } | undefined;
  #stale = false;
  #writing: Promise<void> | undefined;

  constructor({ metadata, spec, status }: Stored<Pod>, options: PublisherOptions) {
    const { uid, name, namespace } = metadata;
    this.#pod = { namespace, name, uid };
    this.#options = options;
    this.#startTime = timestamp(options.clock.now());
    const { initContainers = [], containers } = spec;
    for (const container of [...initContainers, ...containers]) {
      const isInit = initContainers.includes(container);
      this.#records.set(container.name, restoreState(container, isInit, status, this.#startTime));
    }
  }

  /** Returns the record of a container. Each change of it must be followed by `publish`. */
  record({ name }: Container): ContainerRecord {
    const record = this.#records.get(name);
    if (record === undefined) {
      throw new Error(`no record of container ${name}`);
    }
    return record;
  }

  /** Returns true if a container of the pod ran in an earlier run of the node. */
  get ranBefore(): boolean {
    return [...this.#records.values()].some((record) => record.lastState !== undefined);
  }

  /** The pod has its address and volumes, so containers may start. */
  setSandboxReady(address: string): void {
    this.#address = address;
    this.#sandboxReady = true;
    void this.publish();
  }

  /** The node gives the pod up: its phase becomes Failed. Resolves when that is written. */
  fail(reason: string, message: string): Promise<void> {
    this.#failure = { reason, message };
    return this.publish();
  }

  /**
   * Must be called after every change. Resolves when a status at least as new is written, or the pod is
   * deleted.
   */
  publish(): Promise<void> {
    this.#stale = true;
    this.#writing ??= this.#writeAll();
    return this.#writing;
  }

  async #writeAll(): Promise<void> {
    // All changes in the same turn of the event loop share one write.
    await Promise.resolve();
    try {
      while (this.#stale) {
        this.#stale = false;
        await this.#write();
      }
    } catch (error) {
      this.#options.onError(error);
    } finally {
      this.#writing = undefined;
    }
  }

  async #write(): Promise<void> {
    try {
      const pod = await this.#options.api.get<Pod>({ resource: pods, ...this.#pod });
      if (pod.metadata.uid === this.#pod.uid) {
        await this.#options.api.replace(pods, { ...pod, status: this.#status(pod) }, 'status');
      }
    } catch (error) {
      if (isApiError(error, 409)) {
        this.#stale = true;
      } else if (!isApiError(error, 404)) {
        throw error;
      }
    }
  }

  #status(current: Pod): PodStatus {
    const facts = {
      startTime: this.#startTime,
      podIp: this.#address ?? current.status?.podIP,
      sandboxReady: this.#sandboxReady,
      failure: this.#failure,
    };
    const now = timestamp(this.#options.clock.now());
    return podStatus(current, [...this.#records.values()], facts, now);
  }
}
