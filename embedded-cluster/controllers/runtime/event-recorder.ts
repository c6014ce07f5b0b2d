import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { KubernetesApi } from '../../../src/kubernetes/api.ts';
import type { Clock } from '../../../src/platform/clock.ts';
import type { KubernetesObject } from '../../../src/kubernetes/object.ts';
import type { EventRecord } from '../../../src/kubernetes/describe-pod.ts';
import { events } from '../../../src/kubernetes/resources.ts';

export interface EventDetails {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** The object of an event, with kind and apiVersion, which watched objects may lack. */
export interface InvolvedObject {
  readonly kind: string;
  readonly apiVersion: string;
  readonly object: KubernetesObject;
}

export interface RecorderOptions {
  readonly api: KubernetesApi;
  readonly clock: Clock;
  /** The name of the controller, for `source.component`. */
  readonly component: string;
  readonly onError: (error: unknown) => void;
}

interface WrittenEvent extends EventRecord {
  count: number;
}

const maxCachedEvents = 1000;

/** Formats a time with whole seconds, as Kubernetes does. */
export function timestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\.\d{3}Z$/u, 'Z');
}

/**
 * Writes Events. An event with the same object, type, reason and message as an earlier one increases the
 * count of that one (client-go tools/record/events_cache.go). Events are informational: an event that cannot
 * be written is reported to `onError` and dropped.
 */
export class EventRecorder {
  readonly #options: RecorderOptions;
  readonly #written = new Map<string, WrittenEvent>();
  #queue: Promise<void> = Promise.resolve();
  #lastNumber = 0;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /** Returns at once. Events are written in the order of the calls. */
  record(subject: InvolvedObject, happening: EventDetails): void {
    this.#queue = this.#queue.then(() => this.#write(subject, happening)).catch(this.#options.onError);
  }

  /** Resolves when all events recorded so far are written. */
  flush(): Promise<void> {
    return this.#queue;
  }

  async #write(subject: InvolvedObject, happening: EventDetails): Promise<void> {
    const key = JSON.stringify([
      subject.kind,
      subject.object.metadata.uid,
      happening.type,
      happening.reason,
      happening.message,
    ]);
    const former = this.#written.get(key);
    const event =
      former === undefined
        ? await this.#create(subject, happening)
        : ((await this.#incrementSeries(former)) ?? (await this.#create(subject, happening)));
    this.#remember(key, event);
  }

  /** Returns undefined if the event has expired. */
  async #incrementSeries(former: WrittenEvent): Promise<WrittenEvent | undefined> {
    const { namespace, name = '' } = former.metadata;
    try {
      return await this.#options.api.patch<WrittenEvent>(
        { resource: events, namespace, name },
        { count: former.count + 1, lastTimestamp: timestamp(this.#options.clock.now()) },
      );
    } catch (error) {
      if (isApiError(error, 404)) {
        return undefined;
      }
      throw error;
    }
  }

  /** Returns undefined if the namespace is terminating or deleted and accepts no events. */
  async #create(subject: InvolvedObject, happening: EventDetails): Promise<WrittenEvent | undefined> {
    for (;;) {
      try {
        return await this.#options.api.create<WrittenEvent>(events, this.#event(subject, happening));
      } catch (error) {
        if (isApiError(error, 403) || isApiError(error, 404)) {
          return undefined;
        }
        // Another component has recorded an event about the same object at the same moment. The next number
        // is free.
        if (!isApiError(error, 409, 'AlreadyExists')) {
          throw error;
        }
      }
    }
  }

  #event(
    { kind, apiVersion, object }: InvolvedObject,
    { type, reason, message }: EventDetails,
  ): WrittenEvent {
    const { name = '', namespace, uid, resourceVersion } = object.metadata;
    const now = this.#options.clock.now();
    // Names must also differ for two events of one millisecond.
    this.#lastNumber = Math.max(now * 1000, this.#lastNumber + 1);
    const event = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: `${name}.${this.#lastNumber.toString(16)}`, namespace: namespace ?? 'default' },
      involvedObject: {
        apiVersion,
        kind,
        name,
        ...(namespace !== undefined && { namespace }),
        ...(uid !== undefined && { uid }),
        ...(resourceVersion !== undefined && { resourceVersion }),
      },
      type,
      reason,
      message,
      count: 1,
      firstTimestamp: timestamp(now),
      lastTimestamp: timestamp(now),
      source: { component: this.#options.component },
      reportingComponent: this.#options.component,
      reportingInstance: '',
    };
    return event;
  }

  #remember(key: string, event: WrittenEvent | undefined): void {
    this.#written.delete(key);
    if (event !== undefined) {
      this.#written.set(key, event);
    }
    const [oldest] = this.#written.keys();
    if (oldest !== undefined && this.#written.size > maxCachedEvents) {
      this.#written.delete(oldest);
    }
  }
}
