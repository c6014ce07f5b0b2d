import { isApiError } from '../client/api-error.ts';
import type { Clock } from '../../platform/clock.ts';

export interface ControllerRuntime {
  readonly clock: Clock;
  /** Returns a number in [0, 1), which spreads retries. */
  readonly random: () => number;
  /** Called with the error of every failed reconciliation, which is retried. */
  readonly onError: (error: unknown) => void;
}

/** Reconciles the object named by the key by one step; called again after any change. */
export type Reconcile = (key: string) => Promise<void>;

const baseDelayMs = 100;
const maximumDelayMs = 30_000;
/** The limit of setTimeout, which fires at once above it. A toleration may be longer. */
const maxTimerMs = 2 ** 31 - 1;

interface DelayedKey {
  readonly due: number;
  readonly end: AbortController;
}

/**
 * A queue of keys that are reconciled one at a time. A key that is added several times before its turn is
 * reconciled once. A key that fails is retried with a growing delay, while the others continue (client-go
 * util/workqueue).
 */
export class WorkQueue {
  readonly #name: string;
  readonly #reconcile: Reconcile;
  readonly #runtime: ControllerRuntime;
  readonly #ready = new Set<string>();
  readonly #failures = new Map<string, number>();
  readonly #waiting = new Map<string, DelayedKey>();
  #stopped = false;
  #wake: () => void = () => undefined;

  constructor(name: string, reconcile: Reconcile, runtime: ControllerRuntime) {
    this.#name = name;
    this.#reconcile = reconcile;
    this.#runtime = runtime;
  }

  add(key: string): void {
    this.#ready.add(key);
    this.#wake();
  }

  /**
   * Adds the key after the delay in `milliseconds`, never earlier: a reconcile that runs too early would not
   * be requeued. A key that is added more than once waits once, for the earliest of its times (client-go
   * util/workqueue, delaying_queue.go), so that a reconcile that always requeues its key does not add more
   * and more timers.
   */
  addAfter(key: string, milliseconds: number): void {
    if (this.#stopped) return;
    const due = this.#runtime.clock.now() + milliseconds;
    const present = this.#waiting.get(key);
    if (present !== undefined && present.due <= due) return;
    present?.end.abort();
    const wait = { due, end: new AbortController() };
    this.#waiting.set(key, wait);
    void this.#wait(key, milliseconds, wait);
  }

  async #wait(key: string, milliseconds: number, wait: DelayedKey): Promise<void> {
    const { clock } = this.#runtime;
    const { signal } = wait.end;
    for (let remaining = milliseconds; remaining > 0 && !signal.aborted; remaining -= maxTimerMs) {
      await clock.sleep(Math.min(remaining, maxTimerMs), signal);
    }
    // A timer uses another clock: one of eight fires a millisecond before Date.now() reaches the time.
    const early = wait.due - clock.now();
    if (early > 0 && !signal.aborted) await clock.sleep(Math.min(early, milliseconds), signal);
    if (signal.aborted) return;
    this.#waiting.delete(key);
    this.add(key);
  }

  /** Runs until `stop`; a reconciliation in progress is finished. */
  async run(): Promise<void> {
    while (!this.#stopped) {
      const [key] = this.#ready;
      if (key === undefined) {
        await new Promise<void>((resolve) => (this.#wake = resolve));
        continue;
      }
      this.#ready.delete(key);
      await this.#work(key);
    }
  }

  stop(): void {
    this.#stopped = true;
    for (const { end } of this.#waiting.values()) end.abort();
    this.#wake();
  }

  async #work(key: string): Promise<void> {
    try {
      await this.#reconcile(key);
      this.#failures.delete(key);
    } catch (error) {
      const failures = (this.#failures.get(key) ?? 0) + 1;
      this.#failures.set(key, failures);
      this.addAfter(key, this.#delay(failures));
      // A conflict only means that the next reconcile will see a newer object.
      if (!isApiError(error, 409)) {
        this.#runtime.onError(new Error(`${this.#name}: ${key}`, { cause: error }));
      }
    }
  }

  #delay(failures: number): number {
    const delay = Math.min(baseDelayMs * 2 ** (failures - 1), maximumDelayMs);
    return delay * (1 + this.#runtime.random() / 4);
  }
}
