import { isApiError } from '../client/api-error.ts';
import { type KubernetesApi, ignoreNotFound } from '../api.ts';
import type { Clock } from '../../platform/clock.ts';
import type { KubernetesObject } from '../object.ts';
import type { EventRecord } from '../describe-pod.ts';
import { events } from '../resources.ts';
import { timestamp } from '../timestamp.ts';

export interface EventDetails {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** The part of the object that the event is about, for example `spec.containers{bosh}`. */
  readonly fieldPath?: string | undefined;
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
  /** The name of the node on which the component runs; absent for a component of the control plane. */
  readonly host?: string;
  readonly onError: (error: unknown) => void;
}

interface WrittenEvent extends EventRecord {
  count: number;
}

const maxCachedEvents = 1000;

/** Returns the object of an event. */
export function involved(kind: string, object: KubernetesObject, apiVersion = 'v1'): InvolvedObject {
  return { kind, apiVersion, object };
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
  record(subject: InvolvedObject, details: EventDetails): void {
    this.#queue = this.#queue.then(() => this.#write(subject, details)).catch(this.#options.onError);
  }

  /** Resolves when all events recorded so far are written. */
  flush(): Promise<void> {
    return this.#queue;
  }

  async #write(subject: InvolvedObject, details: EventDetails): Promise<void> {
    const { type, reason, message, fieldPath } = details;
    const key = JSON.stringify([
      ...[subject.kind, subject.object.metadata.uid, fieldPath],
      ...[type, reason, message],
    ]);
    const previous = this.#written.get(key);
    const repeated = previous === undefined ? undefined : await this.#incrementSeries(previous);
    this.#remember(key, repeated ?? (await this.#create(subject, details)));
  }

  /** Returns undefined if the event has expired. */
  async #incrementSeries(previous: WrittenEvent): Promise<WrittenEvent | undefined> {
    const { namespace, name } = previous.metadata;
    const { api, clock } = this.#options;
    return ignoreNotFound(
      api.patch<WrittenEvent>(
        { resource: events, namespace, name },
        { count: previous.count + 1, lastTimestamp: timestamp(clock.now()) },
      ),
    );
  }

  /** Returns undefined if the namespace is terminating or deleted and accepts no events. */
  async #create(subject: InvolvedObject, details: EventDetails): Promise<WrittenEvent | undefined> {
    for (;;) {
      try {
        return await this.#options.api.create<WrittenEvent>(events, this.#event(subject, details));
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

  #event({ kind, apiVersion, object }: InvolvedObject, details: EventDetails): WrittenEvent {
    const { name, namespace, uid, resourceVersion } = object.metadata;
    const { type, reason, message, fieldPath } = details;
    const { clock, component, host } = this.#options;
    const now = clock.now();
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
        ...(fieldPath !== undefined && { fieldPath }),
      },
      type,
      reason,
      message,
      count: 1,
      firstTimestamp: timestamp(now),
      lastTimestamp: timestamp(now),
      source: { component, ...(host !== undefined && { host }) },
      reportingComponent: component,
      reportingInstance: host ?? '',
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
