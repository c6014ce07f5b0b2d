import { isApiError } from '../../../kubernetes/api-error.ts';
import type { KubernetesApi } from '../../../kubernetes/api.ts';
import type { Clock } from '../../../kubernetes/clock.ts';
import type { KubernetesObject } from '../../../kubernetes/object.ts';
import type { EventRecord } from '../../../kubernetes/pod-words.ts';
import { events } from '../../../kubernetes/resources.ts';

export interface EventDetails {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** Whom an event is about; watched objects may lack kind and apiVersion, so they are said. */
export interface InvolvedObject {
  readonly kind: string;
  readonly apiVersion: string;
  readonly object: KubernetesObject;
}

export interface RecorderOptions {
  readonly api: KubernetesApi;
  readonly clock: Clock;
  /** The controller, as `source.component`. */
  readonly component: string;
  readonly onError: (error: unknown) => void;
}

interface WrittenEvent extends EventRecord {
  count: number;
}

const maxCachedEvents = 1000;

/** Kubernetes' timestamps have whole seconds. */
export function timestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\.\d{3}Z$/u, 'Z');
}

/**
 * Writes Events; the same subject, reason and message again raises the count of the first
 * (client-go tools/record/events_cache.go). Events are news, not state: one that cannot be written is reported and lost.
 */
export class EventRecorder {
  readonly #options: RecorderOptions;
  readonly #written = new Map<string, WrittenEvent>();
  #queue: Promise<void> = Promise.resolve();
  #lastNumber = 0;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /** Returns at once; events are written in the order of the calls. */
  record(subject: InvolvedObject, happening: EventDetails): void {
    this.#queue = this.#queue.then(() => this.#write(subject, happening)).catch(this.#options.onError);
  }

  /** Resolves when what was recorded so far is written. */
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

  /** Undefined where the event has expired meanwhile. */
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

  /** Undefined where a namespace that is going, or gone, takes no new events. */
  async #create(subject: InvolvedObject, happening: EventDetails): Promise<WrittenEvent | undefined> {
    for (;;) {
      try {
        return await this.#options.api.create<WrittenEvent>(events, this.#event(subject, happening));
      } catch (error) {
        if (isApiError(error, 403) || isApiError(error, 404)) {
          return undefined;
        }
        // another component wrote about the same object in the same moment: the next number is free
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
    // names must differ also for two events of one millisecond
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
