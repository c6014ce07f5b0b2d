import { deleteSameVersion } from '../../src/kubernetes/controllers/conditional-writes.ts';
import { Controller } from '../../src/kubernetes/controllers/controller.ts';
import type { EventRecord } from '../../src/kubernetes/describe-pod.ts';
import { events } from '../../src/kubernetes/resources.ts';
import type { ControllerContext } from './controller-context.ts';

/** kube-apiserver --event-ttl. */
const lifeMs = 3_600_000;

type Context = ControllerContext<'events'>;

/** Deletes an event one hour after its last occurrence. */
export class EventExpiry extends Controller {
  readonly #informers: Context['informers'];
  readonly #api: Context['api'];
  readonly #clock: Context['clock'];

  constructor(context: Context) {
    super('event-expiry', context);
    this.#informers = context.informers;
    this.#api = context.api;
    this.#clock = context.clock;
    const { informers } = context;

    informers.events.onChange(({ key, before, after }) => {
      if (before === undefined && after !== undefined) {
        this.queue.addAfter(key, this.#remaining(after));
      }
    });
  }

  protected override async reconcile(key: string): Promise<void> {
    const event = this.#informers.events.get(key);
    if (event === undefined) {
      return;
    }
    const wait = this.#remaining(event);
    if (wait > 0) {
      this.queue.addAfter(key, wait);
      return;
    }
    await deleteSameVersion(this.#api, events, event);
  }

  #remaining(event: EventRecord): number {
    const last = event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp;
    const at = Date.parse(last ?? '');
    return Number.isNaN(at) ? lifeMs : Math.max(0, at + lifeMs - this.#clock.now());
  }
}
