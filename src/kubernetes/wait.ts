import { truncateAtWord } from '../errors/redact/whole-words.ts';
import { ProductError } from '../errors/product-error.ts';
import { isApiError } from './api-error.ts';
import type { KubernetesApi, ObjectReference } from './api.ts';
import type { Clock } from './clock.ts';
import { systemClock } from './clock.ts';
import type { KubernetesObject } from './object.ts';
import { isTransientStatus } from './passing-status.ts';
import { transportFailure } from './transport-failure.ts';

/**
 * What Kubernetes says about an object that is waited for and, apart from it, what to do when the deadline
 * has passed.
 */
export interface WaitStatus {
  readonly state: string;
  readonly next: string;
}

export interface WaitOptions<T extends KubernetesObject, R> {
  readonly api: KubernetesApi;
  readonly reference: ObjectReference;
  /**
   * Called with each state of the object, undefined while there is none.
   * Anything but undefined ends the wait with that value; a throw ends it with that error.
   */
  readonly condition: (object: T | undefined) => R | undefined;
  /** What the error says, for example `pod vm-1 to become ready`. */
  readonly awaited: string;
  readonly deadlineMs: number;
  /** Asked when the deadline has passed, and every five seconds before where there is a `say`. */
  readonly lastWords?: (last: T | undefined) => StatusText | Promise<StatusText>;
  /**
   * Told after five seconds what is waited for and its state, and again when that has changed: a line of at
   * most 1 KB.
   */
  readonly onProgress?: (line: string) => void;
  readonly clock?: Clock;
  /** Ends the wait, which then rejects with the signal's reason: nobody needs its result any more. */
  readonly signal?: AbortSignal;
  /** The object as a request has just given it: the wait watches from its version on, without a read. */
  readonly known?: T | undefined;
}

/** A text alone says no more than the state. */
type StatusText = string | WaitStatus;

const pauseMs = 200;
const progressIntervalMs = 5_000;
/** create-env leaves lines of more than 1 KiB out (src/deploy/process/run-process.ts). */
const longestLine = 900;
/** How long an API server that has just started may refuse everybody: until it has read the roles. */
const forbiddenGraceMs = 30_000;

/**
 * Waits by watch until `condition` gives a value; resolves at once when the present state does.
 * A watch that ends, breaks or is too old (410) is taken up again from a fresh read; so is one that is
 * forbidden (403), for half a minute, where this wait was allowed before: a restarted API server knows no
 * roles yet. Rejects with DEADLINE, which says what was awaited, for how long and the last words.
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
    // what it meets after its end was decided is nobody's concern
    for (const ended of [watching, saying]) ended.catch(() => undefined);
  }
  throw await deadlineError(options, seen);
}

interface LastState<T> {
  last: T | undefined;
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
  let { known } = options;
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
  known: T | undefined,
): Promise<{ value: R } | undefined> {
  const check = (object: T | undefined): { value: R } | undefined => {
    seen.last = object ?? seen.last;
    const value = condition(object);
    return value === undefined ? undefined : { value };
  };
  const hear = (object: T | undefined): { value: R } | undefined => {
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
 * Whether it is one of the troubles that a restarting API server, or a proxy before it, makes; a wait's
 * deadline bounds them.
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

/**
 * Says the state as it changes until the signal aborts; after that it stays pending. What cannot be asked now
 * is not said.
 */
async function reportProgress<T extends KubernetesObject, R>(
  options: WaitOptions<T, R>,
  clock: Clock,
  signal: AbortSignal,
  seen: LastState<T>,
): Promise<never> {
  let said = '';
  while (options.onProgress !== undefined && !signal.aborted) {
    await clock.sleep(progressIntervalMs, signal);
    if (signal.aborted) break;
    const state = (await stateWhileWaiting(options, seen))?.replaceAll(/\s+/gu, ' ');
    // an event that came once more is nothing new
    const news = state?.replaceAll(/ \(x\d+\)/gu, '');
    if (state === undefined || news === undefined || news === said || isExpired(signal)) continue;
    options.onProgress(truncateAtWord(`waiting for ${options.awaited}: ${state}`, longestLine));
    said = news;
  }
  return new Promise<never>(() => undefined);
}

/** Asked again after an await, which the compiler takes no note of. */
const isExpired = (signal: AbortSignal): boolean => signal.aborted;

async function stateWhileWaiting<T extends KubernetesObject, R>(
  { lastWords: words, reference }: WaitOptions<T, R>,
  { lastError, last }: LastState<T>,
): Promise<string | undefined> {
  if (lastError !== undefined) return lastError.message;
  try {
    const said = await words?.(last);
    if (said === undefined)
      return last === undefined ? `no such object in ${reference.resource.plural} yet` : 'not so yet';
    return typeof said === 'string' ? said : said.state;
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
  const words = await describeLast(options, seen);
  return new ProductError('DEADLINE', `waited ${seconds} s for ${options.awaited}${words}`);
}

async function describeLast<T extends KubernetesObject, R>(
  options: WaitOptions<T, R>,
  seen: LastState<T>,
): Promise<string> {
  if (seen.lastError !== undefined) return `; last known: ${withHint(seen.lastError.message)}`;
  try {
    const words = (await options.lastWords?.(seen.last)) ?? stateOf(options.reference, seen.last);
    return `; last known: ${typeof words === 'string' ? words : `${words.state}; ${words.next}`}`;
  } catch (error) {
    // the deadline is the news; that its explanation could not be fetched comes after it
    return `; last known: not available (${withHint(error instanceof Error ? error.message : String(error))})`;
  }
}

const runAgain = 'run the call again';

/** Some errors name that step themselves. */
const withHint = (message: string): string =>
  message.endsWith(runAgain) ? message : `${message}; when that is mended, ${runAgain}`;

const stateOf = ({ resource }: ObjectReference, last: KubernetesObject | undefined): string =>
  last === undefined
    ? `no such object in ${resource.plural}; see why it is not there, then ${runAgain}`
    : `not so when it was last seen; look at it with kubectl describe, then ${runAgain}`;
