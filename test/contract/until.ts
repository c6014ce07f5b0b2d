import assert from 'node:assert/strict';

const deadlineMs = 20_000;

/** Polls until there is a value; fails with `what` after 20 s. */
export async function until<T>(what: string, check: () => Promise<T | undefined>): Promise<T> {
  const end = Date.now() + deadlineMs;
  for (;;) {
    const value = await check();
    if (value !== undefined) return value;
    assert(Date.now() < end, `waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
