import assert from 'node:assert/strict';

/**
 * Returns the pause between attempts: a tenth of the elapsed time, because an attempt may start a process in
 * a pod.
 */
const pauseAfter = (elapsedMs: number, maxMs: number): number =>
  Math.min(maxMs, Math.max(20, elapsedMs / 10));

/**
 * Polls until `attempt` returns a value that is neither undefined nor false, and returns it. The error after
 * the deadline (milliseconds) names `what`; a function is called for it then. `maxPauseMs`: the longest
 * pause, for expensive attempts.
 */
export async function until<T>(
  what: string | (() => string | Promise<string>),
  attempt: () => Promise<T | undefined | false>,
  deadlineMs = 120_000,
  maxPauseMs = 500,
): Promise<T> {
  const start = Date.now();
  for (;;) {
    const value = await attempt();
    if (value !== undefined && value !== false) return value;
    const elapsed = Date.now() - start;
    if (elapsed >= deadlineMs) {
      assert.fail(`waited ${deadlineMs / 1000} s for ${typeof what === 'string' ? what : await what()}`);
    }
    await new Promise((resolve) => setTimeout(resolve, pauseAfter(elapsed, maxPauseMs)));
  }
}
