import { ProductError } from '../errors/product-error.ts';
import type { Clock } from './clock.ts';
import { transportFailure } from './transport-failure.ts';

export interface RefusedRetryOptions {
  readonly clock: Clock;
  /** In [0, 1), spreads retries. */
  readonly random: () => number;
  /**
   * How long the server may refuse connections, counted from the first refused one since it last took one.
   */
  readonly maxWaitMs: number;
  /** The caller's own deadline: no attempt begins after this time of the clock. */
  readonly until?: number | undefined;
  /** Ends the retries. */
  readonly signal?: AbortSignal | undefined;
  /** Called once, when connections have been refused for 5 s and are tried on. */
  readonly onWaiting?: (() => void) | undefined;
}

/**
 * Runs an attempt again while the server refuses its connection, then rejects with the last attempt's
 * error.
 */
export type RetryRefused = <T>(attempt: () => Promise<T>) => Promise<T>;

const firstPauseMs = 100;
const longestPauseMs = 2000;
const reportAfterMs = 5000;

/**
 * A refused connection reached nobody, so every verb is tried again: the API server of a control plane that
 * restarts is away for 20 to 60 s. All attempts through one RetryRefused share one patience: what cleans up
 * after a failed request does not wait again.
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
