import { Informer } from '../kubernetes/controllers/informer.ts';
import type { KubernetesApi } from '../kubernetes/api.ts';
import type { Clock } from '../platform/clock.ts';
import { isApiError } from '../kubernetes/client/api-error.ts';
import { errorChain } from '../platform/error-chain.ts';
import {
  type ListName,
  type Namespaces,
  type ObjectLists,
  asObjectLists,
  listSources,
  missingKind,
  readLists,
} from './object-lists.ts';

/** What a watch knows at one time. */
export interface WatchedLists {
  readonly lists: ObjectLists;
  /**
   * Undefined while all lists are up to date. Otherwise the time since which a list could not be read, in
   * milliseconds since the epoch, and the reason.
   */
  readonly failure: { readonly since: number; readonly reason: string } | undefined;
}

export interface WatchOptions {
  readonly clock: Clock;
  /** Ends the iteration. */
  readonly signal: AbortSignal;
  /** Yields also without a change after this time, because ages are shown. */
  readonly refreshMs: number;
}

/** Changes within this time are reported together. */
const coalesceMs = 100;

/**
 * Yields the lists at once, and again after each change. A connection that fails is opened again, with
 * growing delays, and is reported as `failure` until then; the lists stay as they were. Rejects if the
 * first read fails. A list that the account may not read, or whose kind the cluster does not have, is
 * not watched. One that it may list, but not watch, is listed again and again, at most 10 s apart,
 * without a failure.
 */
export async function* watchLists(
  api: KubernetesApi,
  namespaces: Namespaces,
  names: readonly ListName[],
  { clock, signal, refreshMs }: WatchOptions,
): AsyncGenerator<WatchedLists> {
  const sources = listSources(namespaces);
  const first = await readLists(api, namespaces, names);
  const missing = names.filter((name) => first[name] === missingKind);
  const readable = names.filter((name) => first[name] !== undefined && first[name] !== missingKind);
  const failures = new Map<ListName, { since: number; reason: string }>();
  let changed = Promise.withResolvers<void>();
  const notify = (): void => changed.resolve();
  const informers = readable.map((name) => {
    const { resource, query } = sources[name];
    let isListed = false;
    const onError = (error: unknown): void => {
      const wasListed = isListed;
      isListed = false;
      // The informer lists again before it watches again, with growing delays.
      if (wasListed && error instanceof Error && isApiError(error.cause, 403)) return;
      const since = failures.get(name)?.since ?? clock.now();
      failures.set(name, { since, reason: errorChain(error).at(-1) ?? '' });
      notify();
    };
    const onList = (): void => {
      isListed = true;
      if (failures.delete(name)) notify();
    };
    const informer = new Informer(api, resource, { clock, onError, onList }, query);
    informer.onChange(notify);
    return { name, informer, running: informer.run() };
  });
  const stop = (): void => informers.forEach(({ informer }) => informer.stop());
  signal.addEventListener('abort', stop, { once: true });
  try {
    await Promise.all(informers.map(({ informer }) => informer.synced));
    while (!signal.aborted) {
      changed = Promise.withResolvers<void>();
      const current = [
        ...missing.map((name) => [name, missingKind] as const),
        ...informers.map(({ name, informer }) => [name, informer.list()] as const),
      ];
      const [failure] = [...failures.values()].toSorted((one, other) => one.since - other.since);
      yield { lists: asObjectLists(Object.fromEntries(current)), failure };
      await Promise.race([changed.promise, clock.sleep(refreshMs, signal)]);
      await clock.sleep(coalesceMs, signal);
    }
  } finally {
    stop();
    await Promise.all(informers.map(({ running }) => running));
  }
}
