import type { Clock } from '../../platform/clock.ts';

/** A clock that only the test moves. */
export class ManualClock implements Clock {
  #now: number;
  #sleepers: { readonly at: number; readonly wake: () => void }[] = [];

  constructor(now = Date.UTC(2026, 0, 1)) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) {
        resolve();
        return;
      }
      const wake = (): void => {
        this.#sleepers = this.#sleepers.filter((sleeper) => sleeper.wake !== wake);
        resolve();
      };
      this.#sleepers.push({ at: this.#now + milliseconds, wake });
      signal?.addEventListener('abort', wake, { once: true });
    });
  }

  /** The remaining milliseconds of each sleeper, shortest first. */
  get pending(): number[] {
    return this.#sleepers.map(({ at }) => at - this.#now).toSorted((one, other) => one - other);
  }

  /** Moves the time and wakes the sleepers that are due, in order. */
  advance(milliseconds: number): void {
    this.#now += milliseconds;
    for (const { at, wake } of this.#sleepers.toSorted((one, other) => one.at - other.at)) {
      if (at <= this.#now) {
        wake();
      }
    }
  }
}
