import type { KubernetesApi } from '../../../kubernetes/api.ts';
import { isApiError } from '../../../kubernetes/api-error.ts';
import type { Clock } from '../../../kubernetes/clock.ts';
import type { KubernetesObject } from '../../../kubernetes/object.ts';
import type { Pod } from '../../../kubernetes/pod.ts';
import { events } from '../../../kubernetes/resources.ts';

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
  /** `spec.containers{bosh}`: the part of the pod that it is about. */
  readonly fieldPath?: string | undefined;
}

/** Kubernetes' timestamps have whole seconds. */
export const timestamp = (milliseconds: number): string =>
  new Date(milliseconds).toISOString().replace(/\.\d{3}Z$/, 'Z');

/** Writes what happens to pods as Event objects; the same thing again raises the count (client-go: tools/record). */
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

  /** Returns at once; events are written in the order of the calls. */
  record(pod: Pod, happening: Happening): void {
    this.#queue = this.#queue.then(() => this.#write(pod, happening)).catch(this.#onError);
  }

  /** Resolves when all that was recorded is written. */
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

  /** A namespace that is going takes no new events (403, 404); there is nobody left to read them either. */
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

  /** Another component may write about the same pod in the same moment: the next number is free. */
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
