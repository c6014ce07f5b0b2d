import type { Clock } from '../../../src/platform/clock.ts';
import type { Steps } from './steps.ts';

interface Sleeper {
  readonly due: number;
  readonly wake: () => void;
  readonly owner: object | undefined;
}

/** Time that passes in steps, each to the next moment that a sleep waits for. */
export class VirtualClock implements Clock {
  #now = Date.UTC(2026, 0, 1);
  readonly #sleepers = new Set<Sleeper>();

  constructor(steps: Steps) {
    void this.#pass(steps);
  }

  now(): number {
    return this.#now;
  }

  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return this.#sleep(milliseconds, signal, undefined);
  }

  /** Returns the same clock for one process, whose sleeps end with `forget`. */
  of(owner: object): Clock {
    return {
      now: () => this.#now,
      sleep: (milliseconds, signal) => this.#sleep(milliseconds, signal, owner),
    };
  }

  /** Ends the sleeps of a killed process without resolving them. */
  forget(owner: object): void {
    for (const sleeper of this.#sleepers) if (sleeper.owner === owner) this.#sleepers.delete(sleeper);
  }

  #sleep(milliseconds: number, signal: AbortSignal | undefined, owner: object | undefined): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) {
        resolve();
        return;
      }
      const wake = (): void => {
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener('abort', wake);
        resolve();
      };
      const sleeper = { due: this.#now + milliseconds, wake, owner };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', wake, { once: true });
    });
  }

  async #pass(steps: Steps): Promise<never> {
    for (;;) {
      await steps.when('time passes', () => this.#sleepers.size > 0 && steps.mayTimePass);
      const next = [...this.#sleepers].reduce((one, other) => (other.due < one.due ? other : one));
      this.#now = Math.max(this.#now, next.due);
      next.wake();
    }
  }
}
