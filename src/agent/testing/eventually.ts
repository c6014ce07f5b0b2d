import assert from 'node:assert/strict';
import { systemClock } from '../../platform/clock.ts';

/** Calls `ask` until it returns a value. Fails after a minute. `what` names the value. */
export async function eventually<T>(what: string, ask: () => Promise<T | undefined>): Promise<T> {
  const deadline = systemClock.now() + 60_000;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    assert.ok(systemClock.now() < deadline, `did not come: ${what}`);
    await systemClock.sleep(25);
  }
}
