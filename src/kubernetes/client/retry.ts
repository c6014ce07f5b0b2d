import { isTransientStatus, responseError } from './api-error.ts';
import {
  type TransportFailure,
  type TransportRequest,
  transportFailure,
  type Transport,
  type TransportResponse,
} from './transport.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { Clock } from '../../platform/clock.ts';

/** Why one attempt of a request had no result. */
export type RetryReason =
  | { readonly status: number; readonly retryAfter: string | undefined }
  | { readonly failure: TransportFailure };

export interface RetryAttempt {
  readonly method: TransportRequest['method'];
  /** 1 for the first attempt. */
  readonly tries: number;
  readonly setback: RetryReason;
}

const maximumTries = 6;
const maximumRetryAfterSeconds = 30;
const baseDelayMs = 100;
/** Statuses that the API server sends with a Retry-After only if it did nothing. */
const retryableStatuses: ReadonlySet<number> = new Set([500, 503, 504]);

/**
 * Returns the milliseconds to wait before the next attempt, or undefined if there must be none.
 *
 * - 429, and 500/503/504 with a Retry-After, mean that nothing was done: every verb is repeated
 *   (client-go rest/request.go, checkWait).
 * - Any other transient status (`api-error.ts`), for example a proxy's 502, may come after or during the
 * work:
 *   only GET is repeated.
 * - A refused connection is repeated before this function is called (`createConnectRetry`).
 * - A broken connection may have done its work: only the idempotent verbs (RFC 9110 9.2.2) are repeated.
 *
 * `random` is in [0, 1) and spreads callers out.
 */
export function retryDelay({ method, tries, setback }: RetryAttempt, random: number): number | undefined {
  if (tries >= maximumTries) {
    return undefined;
  }
  const backOff = baseDelayMs * 2 ** (tries - 1) * (1 + random / 2);
  if ('failure' in setback) {
    return mayRepeatFailure(setback.failure, method) ? backOff : undefined;
  }
  const seconds = parseRetryAfter(setback.retryAfter);
  const notExecuted =
    setback.status === 429 || (seconds !== undefined && retryableStatuses.has(setback.status));
  if (!notExecuted && !(method === 'GET' && isTransientStatus(setback.status))) {
    return undefined;
  }
  if (seconds !== undefined && seconds > maximumRetryAfterSeconds) {
    return undefined;
  }
  return Math.max(backOff, (seconds ?? 0) * 1000);
}

function mayRepeatFailure(failure: TransportFailure, method: TransportRequest['method']): boolean {
  return failure === 'reset' && (method === 'GET' || method === 'PUT' || method === 'DELETE');
}

/** Parses a Retry-After in seconds: the API server sends whole seconds, never a date. */
function parseRetryAfter(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,6}$/u.test(header) ? Number(header) : undefined;
}

export interface RefusedRetryOptions {
  readonly clock: Clock;
  /** Returns a number in [0, 1) that spreads retries. */
  readonly random: () => number;
  /**
   * How long the server may refuse connections, in milliseconds since the first refused one after the last
   * accepted one.
   */
  readonly maxWaitMs: number;
  /** The deadline of the caller: no attempt begins after this time of the clock. */
  readonly until?: number | undefined;
  /** Ends the retries. */
  readonly signal?: AbortSignal | undefined;
  /** Called once, when connections have been refused for 5 s and the retries continue. */
  readonly onWaiting?: (() => void) | undefined;
}

/**
 * Repeats an attempt while the server refuses its connection, then rejects with the error of the last
 * attempt.
 */
export type RetryRefused = <T>(attempt: () => Promise<T>) => Promise<T>;

const firstPauseMs = 100;
const maxPauseMs = 2000;
const reportAfterMs = 5000;

/**
 * Creates a retry for refused connections. A refused request reached no server, so every verb is safe to
 * repeat. The API server of a restarting control plane is away for 20 to 60 s. All attempts through one
 * RetryRefused share one time limit, so that cleanup after a failed request does not wait again.
 */
export function createConnectRetry(options: RefusedRetryOptions): RetryRefused {
  const { clock, random, maxWaitMs, until = Infinity, signal } = options;
  let refusedSince: number | undefined;
  let notify = options.onWaiting;
  return async (send) => {
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, maxPauseMs)) {
      const beganAt = clock.now();
      try {
        const result = await send();
        refusedSince = undefined;
        return result;
      } catch (error) {
        if (transportFailure(error) !== 'refused') {
          refusedSince = undefined;
          throw error;
        }
        refusedSince ??= beganAt;
        const now = clock.now();
        const remainingMs = Math.min(refusedSince + maxWaitMs, until) - now;
        if (remainingMs <= 0 || signal?.aborted === true) throw retryExhausted(error, now - refusedSince);
        if (now - refusedSince >= reportAfterMs) {
          notify?.();
          notify = undefined;
        }
        await clock.sleep(Math.min(pauseMs * (1 + random() / 2), remainingMs), signal);
      }
    }
  };
}

function retryExhausted(error: unknown, milliseconds: number): unknown {
  const seconds = Math.round(milliseconds / 1000);
  if (seconds === 0 || !(error instanceof ProductError)) return error;
  return new ProductError(error.code, `${error.message} (tried for ${seconds} s)`, { cause: error.cause });
}

/**
 * The time, in milliseconds, for which a server may refuse a request while it reports that it is starting, or
 * while it does not let us read its readiness. The server reads the roles some seconds after it begins to
 * listen.
 */
const maxWaitMs = { starting: 30_000, forbidden: 10_000 } as const;
const initialDelayMs = 500;

/**
 * Returns a 2xx response. Rejects with the ApiError of another response, or with the failure of the
 * connection.
 */
export type SendRequest = (request: TransportRequest) => Promise<TransportResponse>;

/**
 * Returns a function that sends requests. It repeats requests that are safe to repeat (`retry.ts`), and
 * requests that were forbidden before the server was known to be ready: a 403 means that nothing was done, so
 * every verb is repeated. A server may become ready between its 403 and our check, so the request is sent
 * once more before the 403 counts.
 */
export function requestSender(transport: Transport, clock: Clock, random: () => number): SendRequest {
  const readiness = new ApiReadiness(transport, clock);
  return async (request) => {
    let refusedAt: number | undefined;
    // its own, since other requests read the readiness, too: what they read may be newer than this request
    let isKnownReady = false;
    for (let tries = 1; ;) {
      const sentAt = clock.now();
      const outcome = await attempt(transport, request);
      if (outcome.response !== undefined) return outcome.response;
      if (isForbidden(outcome.setback) && !isKnownReady && !readiness.wasReady(sentAt)) {
        // counts from the first refusal: before it the server may not even have listened
        refusedAt ??= clock.now();
        const state = await readiness.look();
        if (state === 'ready') {
          isKnownReady = true;
          continue;
        }
        if (clock.now() - refusedAt < maxWaitMs[state]) {
          await clock.sleep(initialDelayMs);
          continue;
        }
        if (state === 'forbidden') readiness.giveUp();
      }
      const delay = retryDelay({ method: request.method, tries, setback: outcome.setback }, random());
      if (delay === undefined) throw outcome.error;
      await clock.sleep(delay);
      tries += 1;
    }
  };
}

type Outcome =
  | { readonly response: TransportResponse }
  | { readonly response?: undefined; readonly setback: RetryReason; readonly error: unknown };

async function attempt(transport: Transport, request: TransportRequest): Promise<Outcome> {
  try {
    const response = await transport.request(request);
    if (response.status >= 200 && response.status < 300) return { response };
    const setback = { status: response.status, retryAfter: response.headers['retry-after'] };
    return { setback, error: responseError(response.status, response.body, request) };
  } catch (error) {
    const failure = transportFailure(error);
    if (failure === undefined) throw error;
    return { setback: { failure }, error };
  }
}

const isForbidden = (setback: RetryReason): boolean => 'status' in setback && setback.status === 403;

/** How long, in milliseconds, a "ready" response is trusted: the server has not been restarted since. */
const validMs = 1000;

/** `forbidden`: the roles do not allow reading /readyz. */
export type ReadinessState = 'ready' | 'starting' | 'forbidden';

/**
 * The readiness of an API server. A server that has just started refuses all requests with 403 until it has
 * read the roles. That includes `/readyz`, which the role system:public-info-viewer allows to all
 * authenticated users. From then on `/readyz` fails until everything is read (kubernetes:
 * plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go,
 * staging/src/k8s.io/apiserver/pkg/server/healthz.go).
 */
export class ApiReadiness {
  readonly #transport: Transport;
  readonly #clock: Clock;
  #readyAt: number | undefined;
  #isForbidden = false;

  constructor(transport: Transport, clock: Clock) {
    this.#transport = transport;
    this.#clock = clock;
  }

  /**
   * True if a 403 to a request of that time is final: the server had reported before that it is ready, or it
   * never reports readiness.
   */
  wasReady(sentAt: number): boolean {
    const age = this.#readyAt === undefined ? -1 : sentAt - this.#readyAt;
    return this.#isForbidden || (age >= 0 && age < validMs);
  }

  /**
   * Stops asking: the roles of this cluster do not allow reading /readyz. Called after `forbidden` for long
   * enough.
   */
  giveUp(): void {
    this.#isForbidden = true;
  }

  /** Reads `/readyz`. An unclear response counts as ready, so that a 403 stays final. */
  async look(): Promise<ReadinessState> {
    const state = await this.#ask();
    this.#readyAt = state === 'ready' ? this.#clock.now() : undefined;
    return state;
  }

  async #ask(): Promise<ReadinessState> {
    try {
      const { status } = await this.#transport.request({ method: 'GET', path: '/readyz' });
      if (status >= 500) return 'starting';
      return status === 403 ? 'forbidden' : 'ready';
    } catch (error) {
      if (transportFailure(error) === undefined) throw error;
      return 'ready';
    }
  }
}
