import type { KubernetesApi } from '../../../src/kubernetes/api.ts';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { Clock } from '../../../src/platform/clock.ts';
import type { KubernetesObject } from '../../../src/kubernetes/object.ts';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { events } from '../../../src/kubernetes/resources.ts';

interface Event extends KubernetesObject {
  involvedObject: Record<string, string | undefined>;
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
  count: number;
  firstTimestamp: string;
  lastTimestamp: string;
  source: { component: string; host: string };
  reportingComponent: string;
  reportingInstance: string;
}

export interface Happening {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** The part of the pod that the event is about, for example `spec.containers{bosh}`. */
  readonly fieldPath?: string | undefined;
}

/** Returns a Kubernetes timestamp, which has whole seconds. */
export const timestamp = (milliseconds: number): string =>
  new Date(milliseconds).toISOString().replace(/\.\d{3}Z$/, 'Z');

/**
 * Writes Event objects about pods. A repeated event raises the count of the first one (client-go:
 * tools/record).
 */
export class EventRecorder {
  readonly #api: KubernetesApi;
  readonly #clock: Clock;
  readonly #node: string;
  readonly #recent = new Map<string, Event>();
  readonly #onError: (error: unknown) => void;
  #queue: Promise<void> = Promise.resolve();
  #last = 0;

  constructor(api: KubernetesApi, clock: Clock, node: string, onError: (error: unknown) => void) {
    this.#api = api;
    this.#clock = clock;
    this.#node = node;
    this.#onError = onError;
  }

  /** Records an event. Returns at once; events are written in the order of the calls. */
  record(pod: Pod, happening: Happening): void {
    this.#queue = this.#queue.then(() => this.#write(pod, happening)).catch(this.#onError);
  }

  /** Resolves when all recorded events are written. */
  settled(): Promise<void> {
    return this.#queue;
  }

  async #write(pod: Pod, happening: Happening): Promise<void> {
    const key = [pod.metadata.uid, happening.fieldPath, happening.reason, happening.message].join('\n');
    const known = this.#recent.get(key);
    const now = timestamp(this.#clock.now());
    const event =
      known === undefined ? await this.#first(pod, happening, now) : await this.#again(known, now);
    this.#recent.delete(key);
    if (event !== undefined) {
      this.#recent.set(key, event);
    }
    this.#forget();
  }

  /** Creates the event. Ignores 403 and 404: a terminating namespace accepts no events. */
  async #create(event: Event): Promise<Event | undefined> {
    try {
      return await this.#api.create(events, event);
    } catch (error) {
      if (isApiError(error, 403) || isApiError(error, 404)) {
        return undefined;
      }
      throw error;
    }
  }

  /**
   * Creates the first event of a series. Another component may write an event with the same name about the
   * same pod at the same moment; then the next number is tried.
   */
  async #first(pod: Pod, happening: Happening, now: string): Promise<Event | undefined> {
    for (;;) {
      try {
        return await this.#create(this.#event(pod, happening, now));
      } catch (error) {
        if (!isApiError(error, 409, 'AlreadyExists')) {
          throw error;
        }
      }
    }
  }

  async #again(known: Event, now: string): Promise<Event | undefined> {
    const { namespace, name = '' } = known.metadata;
    const patch = { count: known.count + 1, lastTimestamp: now };
    try {
      return await this.#api.patch<Event>({ resource: events, namespace, name }, patch);
    } catch (error) {
      if (isApiError(error, 404)) {
        return this.#create({ ...known, ...patch, metadata: { ...(namespace && { namespace }), name } });
      }
      throw error;
    }
  }

  #event(pod: Pod, happening: Happening, now: string): Event {
    const { namespace = '', name = '', uid, resourceVersion } = pod.metadata;
    const { fieldPath, type, reason, message } = happening;
    this.#last = Math.max(this.#clock.now() * 1000, this.#last + 1);
    return {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace, name: `${name}.${this.#last.toString(16)}` },
      involvedObject: {
        ...{ apiVersion: 'v1', kind: 'Pod', namespace, name },
        ...(uid !== undefined && { uid }),
        ...(resourceVersion !== undefined && { resourceVersion }),
        ...(fieldPath !== undefined && { fieldPath }),
      },
      ...{ type, reason, message, count: 1, firstTimestamp: now, lastTimestamp: now },
      source: { component: 'kubelet', host: this.#node },
      reportingComponent: 'kubelet',
      reportingInstance: this.#node,
    };
  }

  #forget(): void {
    const [oldest] = this.#recent.keys();
    if (this.#recent.size > 1000 && oldest !== undefined) {
      this.#recent.delete(oldest);
    }
  }
}
