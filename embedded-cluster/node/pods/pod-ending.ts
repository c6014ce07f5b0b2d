import type { Clock } from '../../../src/platform/clock.ts';

/**
 * Why a pod's containers are stopped: the pod is being deleted, its object was removed, or the node stops.
 */
export type EndReason = 'deleted' | 'removed' | 'node-stopped';

/** When and why a pod ends. The deadline can become earlier, never later. */
export class PodEnding {
  readonly #clock: Clock;
  readonly #requested = new AbortController();
  #reason: EndReason | undefined;
  #deadline = Number.POSITIVE_INFINITY;
  #sooner = new AbortController();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Aborts when the pod must end. */
  get signal(): AbortSignal {
    return this.#requested.signal;
  }

  get reason(): EndReason | undefined {
    return this.#reason;
  }

  /** The milliseconds that containers have left. */
  get remaining(): number {
    return Math.max(0, this.#deadline - this.#clock.now());
  }

  /** Requests the end of the pod after `grace` milliseconds from now. */
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

  /** Resolves when the grace period is over, or when `done` aborts. */
  async graceElapsed(done: AbortSignal): Promise<void> {
    while (this.remaining > 0 && !done.aborted) {
      // setTimeout takes 31 bits; a grace period of a year does not fit.
      const pause = Math.min(this.remaining, 2 ** 31 - 1);
      await this.#clock.sleep(pause, AbortSignal.any([done, this.#sooner.signal]));
    }
  }
}

/** Resolves when the signal aborts; at once if it is aborted already. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
    } else {
      signal.addEventListener('abort', () => resolve(), { once: true });
    }
  });
}
