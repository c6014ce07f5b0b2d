import { systemClock } from '../../../src/platform/clock.ts';
import type { Surroundings } from '../simulated/killable-process.ts';

interface Waiting {
  readonly isReady: () => boolean;
  readonly proceed: () => void;
}

/** Lets one request after the other through. A seed chooses the order among the waiting ones. */
export class Turnstile implements Surroundings {
  readonly trace: string[] = [];
  readonly clock: Surroundings['clock'] = { of: () => systemClock, forget: () => undefined };
  readonly #waiting: Waiting[] = [];
  /** Returns an integer of [0, bound). */
  readonly #below: (bound: number) => number;
  #isOpening = false;

  constructor(below: (bound: number) => number) {
    this.#below = below;
  }

  readonly steps: Surroundings['steps'] = {
    when: (label, isReady) =>
      new Promise((resolve) => {
        const proceed = (): void => {
          this.trace.push(label);
          resolve();
        };
        this.#waiting.push({ isReady, proceed });
        this.open();
      }),
    note: (message) => void this.trace.push(`  ${message}`),
  };

  /** Must be called when a waiting request may have become ready. */
  open(): void {
    if (this.#isOpening) return;
    this.#isOpening = true;
    setImmediate(() => {
      this.#isOpening = false;
      const ready = this.#waiting.filter(({ isReady }) => isReady());
      const next = ready[this.#below(ready.length)];
      if (next === undefined) return;
      this.#waiting.splice(this.#waiting.indexOf(next), 1);
      next.proceed();
      if (ready.length > 1) this.open();
    });
  }
}
