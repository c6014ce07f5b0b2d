import type { Clock } from './clock.ts';
import { throwIfInterrupted } from '../errors/throw-if-interrupted.ts';

export interface PollOptions {
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds. */
  readonly timeoutMs: number;
  /** Longest delay between two attempts, in milliseconds. */
  readonly maxDelayMs: number;
}

const firstDelayMs = 20;

/**
 * Calls `attempt` until it returns a value or the timeout expires. The delays begin at 20 ms and double.
 * Makes at least one attempt, and one more at the very end of the timeout. Returns undefined after the
 * timeout. Throws INTERRUPTED when the signal is aborted.
 */
export async function poll<T>(
  attempt: () => Promise<T | undefined>,
  { clock, signal, timeoutMs, maxDelayMs }: PollOptions,
): Promise<T | undefined> {
  const end = clock.now() + timeoutMs;
  for (let delay = Math.min(firstDelayMs, maxDelayMs); ; delay = Math.min(delay * 2, maxDelayMs)) {
    throwIfInterrupted(signal);
    const remaining = end - clock.now();
    const result = await attempt();
    if (result !== undefined) return result;
    if (remaining <= 0) return undefined;
    await clock.sleep(Math.min(delay, remaining), signal);
  }
}
