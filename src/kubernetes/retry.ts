import { isTransientStatus } from './passing-status.ts';
import type { TransportFailure } from './transport-failure.ts';
import type { TransportRequest } from './transport.ts';

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
 * - Any other transient status (`passing-status.ts`), for example a proxy's 502, may come after or during the
 * work:
 *   only GET is repeated.
 * - A refused connection is repeated before this function is called (`retry-refused.ts`).
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
