import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { EventRecord } from '../../../src/kubernetes/describe-pod.ts';
import { events } from '../../../src/kubernetes/resources.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import { splitKey } from '../runtime/informer.ts';
import { WorkQueue } from '../runtime/work-queue.ts';

/** kube-apiserver --event-ttl. */
const lifeMs = 3_600_000;

/** Deletes an event one hour after its last occurrence. */
export function createEventExpiry(context: ControllerContext): WorkQueue {
  const { api, clock, informers } = context;
  const queue = new WorkQueue('event-expiry', reconcile, context);

  informers.events.onChange(({ key, before, after }) => {
    if (before === undefined && after !== undefined) {
      queue.addAfter(key, remaining(after));
    }
  });

  async function reconcile(key: string): Promise<void> {
    const event = informers.events.get(key);
    if (event === undefined) {
      return;
    }
    const wait = remaining(event);
    if (wait > 0) {
      queue.addAfter(key, wait);
      return;
    }
    const { uid = '', resourceVersion = '' } = event.metadata;
    try {
      await api.delete({ resource: events, ...splitKey(key) }, { preconditions: { uid, resourceVersion } });
    } catch (error) {
      if (!isApiError(error, 404)) {
        throw error;
      }
    }
  }

  function remaining(event: EventRecord): number {
    const last = event.lastTimestamp ?? event.eventTime ?? event.metadata.creationTimestamp;
    const at = Date.parse(last ?? '');
    return Number.isNaN(at) ? lifeMs : Math.max(0, at + lifeMs - clock.now());
  }

  return queue;
}
