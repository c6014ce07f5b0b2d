import type { Clock } from '../../../kubernetes/clock.ts';

/** Why a pod's containers are stopped: its deletion, its object's disappearance, or the end of the node. */
export type EndReason = 'deleted' | 'removed' | 'node-stopped';

/** When and why a pod ends. The deadline can come closer, never move away. */
export class PodEnding {
  readonly #clock: Clock;
  readonly #requested = new AbortController();
  #reason: EndReason | undefined;
  #deadline = Number.POSITIVE_INFINITY;
  #sooner = new AbortController();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Aborts when the pod has to end. */
  get signal(): AbortSignal {
    return this.#requested.signal;
  }

  get reason(): EndReason | undefined {
    return this.#reason;
  }

  /** Milliseconds that are left to containers. */
  get remaining(): number {
    return Math.max(0, this.#deadline - this.#clock.now());
  }

  /** `grace` in milliseconds from now. */
  request(reason: EndReason, grace: number): void {
    this.#reason = this.#reason === undefined || reason === 'removed' ? reason : this.#reason;
    const deadline = this.#clock.now() + grace;
    if (deadline < this.#deadline) {
      this.#deadline = deadline;
      this.#sooner.abort();
      this.#sooner = new AbortController();
    }
    this.#requested.abort();
  }

  /** Resolves when the grace is over, or when `done` aborts. */
  async graceElapsed(done: AbortSignal): Promise<void> {
    while (this.remaining > 0 && !done.aborted) {
      // setTimeout takes 31 bits; a grace of a year does not fit.
      const pause = Math.min(this.remaining, 2 ** 31 - 1);
      await this.#clock.sleep(pause, AbortSignal.any([done, this.#sooner.signal]));
    }
  }
}

/** Resolves when the signal aborts, at once when it has. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
    } else {
      signal.addEventListener('abort', () => resolve(), { once: true });
    }
  });
}
