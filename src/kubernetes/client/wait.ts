import { progressPrefixes, truncateAtWord } from '../../errors/text.ts';
import { ProductError } from '../../errors/product-error.ts';
import { isApiError, isTransientStatus } from './api-error.ts';
import type { KubernetesApi, ObjectReference } from '../api.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import type { KubernetesObject, Stored } from '../object.ts';
import { transportFailure } from './transport.ts';

/** The state of an object that is waited for and, separately, the next step after the deadline. */
export interface WaitStatus {
  readonly state: string;
  readonly next: string;
}

export interface WaitOptions<T extends KubernetesObject, R> {
  readonly api: KubernetesApi;
  readonly reference: ObjectReference;
  /**
   * Called with each state of the object, and with undefined while it does not exist. Any value except
   * undefined ends the wait with that value; an exception ends it with that error.
   */
  readonly condition: (object: Stored<T> | undefined) => R | undefined;
  /** The object of the wait, for the error: `pod vm-1 to become ready`. */
  readonly awaited: string;
  readonly deadlineMs: number;
  /**
   * Describes the last state for the error after the deadline. If there is `onProgress`, it is also called
   * every five seconds before that.
   */
  readonly describeState?: (last: Stored<T> | undefined) => StatusText | Promise<StatusText>;
  /**
   * Called after five seconds with the object of the wait and its state, and again whenever the state has
   * changed. The line has at most 1 KB.
   */
  readonly onProgress?: (line: string) => void;
  readonly clock?: Clock;
  /** Ends the wait, which then rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /**
   * The object as a request has just returned it. The wait then watches from its version on, without a read.
   */
  readonly known?: Stored<T> | undefined;
}

/** A plain text has only the state. */
type StatusText = string | WaitStatus;

const pauseMs = 200;
const progressIntervalMs = 5_000;
/** create-env drops lines of more than 4 KiB (src/platform/run-program.ts). */
const maxLineLength = 900;
/**
 * How long, in milliseconds, an API server that has just started may refuse all requests, until it has read
 * the roles.
 */
const forbiddenGraceMs = 30_000;

/**
 * Waits with a watch until `condition` returns a value; resolves at once if the current state gives one.
 * Restarts the watch from a new list when it ends, breaks or expires (410). Tolerates 403 for 30 s if an
 * earlier read of this wait was allowed: a restarting API server has not loaded its roles. Rejects with
 * DEADLINE, which has the object of the wait, its duration and the last state.
 */
export async function waitFor<T extends KubernetesObject, R>(options: WaitOptions<T, R>): Promise<R> {
  const clock = options.clock ?? systemClock;
  const expired = new AbortController();
  const finished = new AbortController();
  const timer = clock.sleep(options.deadlineMs, finished.signal).then(() => {
    expired.abort();
  });
  const seen: LastState<T> = {
    last: undefined,
    lastError: undefined,
    wasAllowed: false,
    forbiddenSince: undefined,
  };
  const deadline = Symbol('deadline');
  const watching = watchUntil(options, clock, expired.signal, seen);
  const saying = reportProgress(options, clock, finished.signal, seen);
  const given = options.signal;
  const abort = (): void => expired.abort();
  given?.addEventListener('abort', abort, { once: true });
  try {
    const result = await Promise.race([watching, saying, timer.then((): typeof deadline => deadline)]);
    given?.throwIfAborted();
    if (result !== deadline && result !== undefined) {
      return result.value;
    }
  } finally {
    given?.removeEventListener('abort', abort);
    finished.abort();
    expired.abort();
    // errors after the end of the wait do not matter
    for (const ended of [watching, saying]) ended.catch(() => undefined);
  }
  throw await deadlineError(options, seen);
}

interface LastState<T extends KubernetesObject> {
  last: Stored<T> | undefined;
  lastError: Error | undefined;
  wasAllowed: boolean;
  forbiddenSince: number | undefined;
}

async function watchUntil<T extends KubernetesObject, R>(
  options: WaitOptions<T, R>,
  clock: Clock,
  signal: AbortSignal,
  seen: LastState<T>,
): Promise<{ value: R } | undefined> {
  let known = options.known;
  while (!signal.aborted) {
    const result = await watchOnce(options, signal, seen, known).catch((error: unknown) => {
      if (!isTransientError(error) && !isForbiddenForNow(error, seen, clock.now())) {
        throw error;
      }
      seen.lastError = error;
      return undefined;
    });
    if (result !== undefined) {
      return result;
    }
    known = undefined;
    await clock.sleep(pauseMs, signal);
  }
  return undefined;
}

async function watchOnce<T extends KubernetesObject, R>(
  { api, reference, condition }: WaitOptions<T, R>,
  signal: AbortSignal,
  seen: LastState<T>,
  known: Stored<T> | undefined,
): Promise<{ value: R } | undefined> {
  const check = (object: Stored<T> | undefined): { value: R } | undefined => {
    seen.last = object ?? seen.last;
    const value = condition(object);
    return value === undefined ? undefined : { value };
  };
  const hear = (object: Stored<T> | undefined): { value: R } | undefined => {
    seen.lastError = undefined;
    seen.wasAllowed = true;
    seen.forbiddenSince = undefined;
    return check(object);
  };
  const query = { namespace: reference.namespace, fieldSelector: `metadata.name=${reference.name}` };
  const list = known === undefined ? await api.list<T>(reference.resource, query) : undefined;
  const now = list === undefined ? check(known) : hear(list.items[0]);
  if (now !== undefined) {
    return now;
  }
  const { resourceVersion } = (list ?? known)?.metadata ?? {};
  for await (const event of api.watch<T>(reference.resource, { ...query, resourceVersion, signal })) {
    if (event.type === 'ERROR') {
      return undefined;
    }
    const then =
      event.type === 'BOOKMARK' ? undefined : hear(event.type === 'DELETED' ? undefined : event.object);
    if (then !== undefined) {
      return then;
    }
  }
  return undefined;
}

/**
 * True for a transient error of a restarting API server, or of a proxy in front of it. The deadline of the
 * wait limits the retries.
 */
export function isTransientError(error: unknown): error is Error {
  const failure = transportFailure(error);
  return (
    (failure !== undefined && failure !== 'tls') ||
    (isApiError(error) && (error.code === 410 || isTransientStatus(error.code)))
  );
}

function isForbiddenForNow(
  error: unknown,
  seen: Pick<LastState<KubernetesObject>, 'wasAllowed' | 'forbiddenSince'>,
  now: number,
): error is Error {
  if (!seen.wasAllowed || !isApiError(error, 403)) return false;
  seen.forbiddenSince ??= now;
  return now - seen.forbiddenSince < forbiddenGraceMs;
}

/** Reports state changes until the signal aborts; never resolves. Skips states that cannot be read. */
async function reportProgress<T extends KubernetesObject, R>(
  options: WaitOptions<T, R>,
  clock: Clock,
  signal: AbortSignal,
  seen: LastState<T>,
): Promise<never> {
  let lastReported = '';
  while (options.onProgress !== undefined && !signal.aborted) {
    await clock.sleep(progressIntervalMs, signal);
    if (signal.aborted) break;
    const state = (await stateWhileWaiting(options, seen))?.replaceAll(/\s+/gu, ' ');
    // a repeated event is not a change
    const news = state?.replaceAll(/ \(x\d+\)/gu, '');
    if (state === undefined || news === undefined || news === lastReported || isExpired(signal)) continue;
    options.onProgress(
      truncateAtWord(`${progressPrefixes.waiting}${options.awaited}: ${state}`, maxLineLength),
    );
    lastReported = news;
  }
  return new Promise<never>(() => undefined);
}

/** Reads `aborted` again after an await; the compiler would assume that it has not changed. */
const isExpired = (signal: AbortSignal): boolean => signal.aborted;

async function stateWhileWaiting<T extends KubernetesObject, R>(
  { describeState, reference }: WaitOptions<T, R>,
  { lastError, last }: LastState<T>,
): Promise<string | undefined> {
  if (lastError !== undefined) return lastError.message;
  try {
    const description = await describeState?.(last);
    if (description === undefined)
      return last === undefined ? `no such object in ${reference.resource.plural} yet` : 'not so yet';
    return typeof description === 'string' ? description : description.state;
  } catch (error) {
    if (isTransientError(error) || isApiError(error, 403)) return undefined;
    throw error;
  }
}

async function deadlineError<T extends KubernetesObject, R>(
  options: WaitOptions<T, R>,
  seen: LastState<T>,
): Promise<ProductError> {
  const seconds = Math.round(options.deadlineMs / 100) / 10;
  const description = await describeLast(options, seen);
  return new ProductError('DEADLINE', `waited ${seconds} s for ${options.awaited}${description}`);
}

async function describeLast<T extends KubernetesObject, R>(
  options: WaitOptions<T, R>,
  seen: LastState<T>,
): Promise<string> {
  if (seen.lastError !== undefined) return `; last known: ${withHint(seen.lastError.message)}`;
  try {
    const description = (await options.describeState?.(seen.last)) ?? stateOf(options.reference, seen.last);
    return `; last known: ${typeof description === 'string' ? description : `${description.state}; ${description.next}`}`;
  } catch (error) {
    // the deadline is the main message; a failure to describe the state comes after it
    return `; last known: not available (${withHint(error instanceof Error ? error.message : String(error))})`;
  }
}

const runAgain = 'run the call again';

/** Some errors end with that step already. */
const withHint = (message: string): string =>
  message.endsWith(runAgain) ? message : `${message}; when that is mended, ${runAgain}`;

const stateOf = ({ resource }: ObjectReference, last: KubernetesObject | undefined): string =>
  last === undefined
    ? `no such object in ${resource.plural}; see why it is not there, then ${runAgain}`
    : `not so when it was last seen; look at it with kubectl describe, then ${runAgain}`;
