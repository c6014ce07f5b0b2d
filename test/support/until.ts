import assert from 'node:assert/strict';

/** Between attempts: a tenth of what it took so far, since one may start a process in a pod. */
const pauseAfter = (elapsedMs: number, mostMs: number): number =>
  Math.min(mostMs, Math.max(50, elapsedMs / 10));

/**
 * Polls until `attempt` gives something that is neither undefined nor false, and resolves with it. `what` is named when
 * the deadline (milliseconds) is over; a function is asked for it then. `mostPauseMs`: of attempts that cost much.
 */
export async function until<T>(
  what: string | (() => string),
  attempt: () => Promise<T | undefined | false>,
  deadlineMs = 120_000,
  mostPauseMs = 500,
): Promise<T> {
  const start = Date.now();
  for (;;) {
    const value = await attempt();
    if (value !== undefined && value !== false) return value;
    const elapsed = Date.now() - start;
    if (elapsed >= deadlineMs) {
      assert.fail(`waited ${deadlineMs / 1000} s for ${typeof what === 'string' ? what : what()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, pauseAfter(elapsed, mostPauseMs)));
  }
}
