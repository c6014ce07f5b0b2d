import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../platform/clock.ts';

interface Sleeper {
  readonly until: number;
  readonly wake: () => void;
}

/** A clock that a test advances. Sleepers then continue in order. */
export class ManualClock implements Clock {
  #now = 0;
  readonly #sleepers = new Set<Sleeper>();

  now(): number {
    return this.#now;
  }

  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted) return resolve();
      const sleeper = {
        until: this.#now + milliseconds,
        wake: () => {
          this.#sleepers.delete(sleeper);
          resolve();
        },
      };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', sleeper.wake, { once: true });
    });
  }

  /**
   * Advances the clock by this many seconds. The work of a sleeper until its next sleep must not wait for the
   * machine.
   */
  async advance(seconds: number): Promise<void> {
    const end = this.#now + seconds * 1000;
    for (;;) {
      await setImmediate();
      const [next] = [...this.#sleepers].toSorted((one, other) => one.until - other.until);
      if (next === undefined || next.until > end) break;
      this.#now = Math.max(this.#now, next.until);
      next.wake();
    }
    this.#now = end;
  }
}
