import type { Clock } from '../platform/clock.ts';
import { throwIfInterrupted } from './stage/stage.ts';

export interface PollOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal | undefined;
  /** Milliseconds. */
  readonly timeoutMs: number;
  /** Longest delay between two attempts, in milliseconds. */
  readonly maxDelayMs: number;
}

const firstPause = 20;

/**
 * Calls `attempt` until it returns a value or the timeout expires. The delays begin at 20 ms and double.
 * Makes at least one attempt, and one more at the very end of the timeout. Returns undefined after the
 * timeout.
 */
export async function poll<T>(
  attempt: () => Promise<T | undefined>,
  options: PollOptions,
): Promise<T | undefined> {
  const { clock, signal, timeoutMs, maxDelayMs } = options;
  const end = clock.now() + timeoutMs;
  for (let pause = firstPause; ; pause = Math.min(pause * 2, maxDelayMs)) {
    throwIfInterrupted(signal);
    const remaining = end - clock.now();
    const result = await attempt();
    if (result !== undefined) return result;
    if (remaining <= 0) return undefined;
    await clock.sleep(Math.min(pause, remaining), signal);
  }
}
