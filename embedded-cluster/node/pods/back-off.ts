import type { Clock } from '../../../src/platform/clock.ts';

/** Delays that double from `first` to `max`, forgotten after a quiet time. All in milliseconds. */
export interface BackOffLimits {
  readonly first: number;
  readonly max: number;
}

/** kubelet's limits for containers that end (kubelet.go, MaxContainerBackOff). */
export const restartLimits: BackOffLimits = { first: 10_000, max: 300_000 };

/** kubelet's limits for images. */
export const imageLimits: BackOffLimits = { first: 10_000, max: 300_000 };

/**
 * Limits for operations that wait for another part of the cluster. They are shorter than kubelet's, because
 * the other part is ready sooner here.
 */
export const retryLimits: BackOffLimits = { first: 200, max: 5_000 };

interface Entry {
  readonly delay: number;
  readonly since: number;
}

/** The back-off of one key, like client-go's flowcontrol.Backoff. */
export class BackOff {
  readonly #limits: BackOffLimits;
  #entry: Entry | undefined;

  constructor(limits: BackOffLimits) {
    this.#limits = limits;
  }

  /**
   * Returns the milliseconds from `time` to the next try of an operation that failed at that time: 0 for the
   * first failure, and for one after a quiet time of twice the longest delay.
   */
  nextDelay(time: number): number {
    const { first, max } = this.#limits;
    const entry = this.#entry;
    if (entry === undefined || time - entry.since > max * 2) {
      this.#entry = { delay: first, since: time };
      return 0;
    }
    this.#entry = { delay: Math.min(entry.delay * 2, max), since: time + entry.delay };
    return entry.delay;
  }
}

/**
 * Tries until the attempt succeeds, with back-off; `onFailure` gets the message of each failure. Returns
 * undefined if the signal aborts before.
 */
export async function retryUntilAborted<T>(
  attempt: () => Promise<T>,
  {
    clock,
    signal,
    onFailure,
  }: {
    readonly clock: Clock;
    readonly signal: AbortSignal;
    readonly onFailure: (message: string) => void;
  },
): Promise<{ readonly result: T } | undefined> {
  const backOff = new BackOff(retryLimits);
  while (!signal.aborted) {
    try {
      return { result: await attempt() };
    } catch (error) {
      onFailure(error instanceof Error ? error.message : String(error));
      const delay = backOff.nextDelay(clock.now());
      await clock.sleep(Math.max(delay, retryLimits.first), signal);
    }
  }
  return undefined;
}
