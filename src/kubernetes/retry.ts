import { isTransientStatus } from './passing-status.ts';
import type { TransportFailure } from './transport-failure.ts';
import type { TransportRequest } from './transport.ts';

/** How one try of a request ended without a result. */
export type RetryReason =
  | { readonly status: number; readonly retryAfter: string | undefined }
  | { readonly failure: TransportFailure };

export interface RetryAttempt {
  readonly method: TransportRequest['method'];
  /** 1 for the first try. */
  readonly tries: number;
  readonly setback: RetryReason;
}

const maximumTries = 6;
const maximumRetryAfterSeconds = 30;
const baseDelayMs = 100;
/** Which statuses the API server sends with a Retry-After only where it did nothing. */
const retryableStatuses: ReadonlySet<number> = new Set([500, 503, 504]);

/**
 * Milliseconds to wait before the next try, or undefined when there is to be none.
 *
 * - 429, and 500/503/504 that carry a Retry-After, say that nothing was done: every verb is tried again
 *   (client-go rest/request.go, checkWait).
 * - Any other passing status (`passing-status.ts`), a proxy's 502 for one, may come after the work or while it is done: only
 *   GET is tried again.
 * - A refused connection is tried again before it gets here (`retry-refused.ts`).
 * - A connection that broke may have done its work: only the idempotent verbs (RFC 9110 9.2.2) are tried again.
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

/** The API server sends whole seconds, never a date. */
function parseRetryAfter(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,6}$/u.test(header) ? Number(header) : undefined;
}
