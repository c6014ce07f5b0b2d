import { ProductError } from '../errors/product-error.ts';
import type { Clock } from './clock.ts';
import { transportFailure } from './transport-failure.ts';

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
const longestPauseMs = 2000;
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
  return async (attempt) => {
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      const beganAt = clock.now();
      try {
        const result = await attempt();
        refusedSince = undefined;
        return result;
      } catch (error) {
        if (transportFailure(error) !== 'refused') {
          refusedSince = undefined;
          throw error;
        }
        refusedSince ??= beganAt;
        const now = clock.now();
        const leftMs = Math.min(refusedSince + maxWaitMs, until) - now;
        if (leftMs <= 0 || signal?.aborted === true) throw retryExhausted(error, now - refusedSince);
        if (now - refusedSince >= reportAfterMs) {
          notify?.();
          notify = undefined;
        }
        await clock.sleep(Math.min(pauseMs * (1 + random() / 2), leftMs), signal);
      }
    }
  };
}

function retryExhausted(error: unknown, milliseconds: number): unknown {
  const seconds = Math.round(milliseconds / 1000);
  if (seconds === 0 || !(error instanceof ProductError)) return error;
  return new ProductError(error.code, `${error.message} (tried for ${seconds} s)`, { cause: error.cause });
}
