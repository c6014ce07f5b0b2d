import assert from 'node:assert/strict';

/**
 * Polls until `attempt` gives something that is neither undefined nor false, and resolves with it. `what` is named when
 * the deadline (milliseconds) is over.
 */
export async function until<T>(
  what: string,
  attempt: () => Promise<T | undefined | false>,
  deadlineMs = 120_000,
): Promise<T> {
  const end = Date.now() + deadlineMs;
  for (;;) {
    const value = await attempt();
    if (value !== undefined && value !== false) return value;
    assert.ok(Date.now() < end, `waited ${deadlineMs / 1000} s for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
