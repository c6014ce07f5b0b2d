/** Delays that double from `first` to `longest`, forgotten after a quiet time. All in milliseconds. */
export interface BackOffLimits {
  readonly first: number;
  readonly longest: number;
}

/** kubelet's for containers that end (kubelet.go, MaxContainerBackOff). */
export const restartLimits: BackOffLimits = { first: 10_000, longest: 300_000 };

/** kubelet's for images. */
export const imageLimits: BackOffLimits = { first: 10_000, longest: 300_000 };

/** For what waits on something else of the cluster: shorter than kubelet's, because here it comes sooner. */
export const retryLimits: BackOffLimits = { first: 200, longest: 5_000 };

interface Entry {
  readonly delay: number;
  readonly since: number;
}

/** client-go's flowcontrol.Backoff for one key. */
export class BackOff {
  readonly #limits: BackOffLimits;
  #entry: Entry | undefined;

  constructor(limits: BackOffLimits) {
    this.#limits = limits;
  }

  /**
   * The delay, counted from `time`, before the next try of something that failed at that time: 0 for the first
   * failure and for one after a quiet time of twice the longest delay.
   */
  nextDelay(time: number): number {
    const { first, longest } = this.#limits;
    const entry = this.#entry;
    if (entry === undefined || time - entry.since > longest * 2) {
      this.#entry = { delay: first, since: time };
      return 0;
    }
    this.#entry = { delay: Math.min(entry.delay * 2, longest), since: time + entry.delay };
    return entry.delay;
  }
}
