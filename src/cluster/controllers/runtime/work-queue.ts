import { isApiError } from '../../../kubernetes/api-error.ts';
import type { Clock } from '../../../kubernetes/clock.ts';

export interface ControllerRuntime {
  readonly clock: Clock;
  /** In [0, 1), spreads retries. */
  readonly random: () => number;
  /** Told about every failed reconciliation; the object is tried again. */
  readonly onError: (error: unknown) => void;
}

/** Brings what a key names one step nearer to its wish; runs again when anything about it changes. */
export type Reconcile = (key: string) => Promise<void>;

const baseDelayMs = 100;
const maximumDelayMs = 30_000;
/** setTimeout takes no more and fires at once instead; a toleration may be longer. */
const maxTimerMs = 2 ** 31 - 1;

interface DelayedKey {
  readonly due: number;
  readonly end: AbortController;
}

/**
 * Keys to reconcile, one after the other, each once however often it was added meanwhile.
 * A key that fails comes back with a growing delay, and the others go on (client-go util/workqueue).
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
   * Adds the key in `milliseconds`, not before the clock says so: whoever looks a moment too early would not come again.
   * A key waits once, for the earliest of its times (client-go util/workqueue, delaying_queue.go): who asks at each look
   * to come back does not come ever more often.
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
    for (let left = milliseconds; left > 0 && !signal.aborted; left -= maxTimerMs) {
      await clock.sleep(Math.min(left, maxTimerMs), signal);
    }
    // a timer counts on another clock: one of eight is a millisecond ahead of Date.now()
    const early = wait.due - clock.now();
    if (early > 0 && !signal.aborted) await clock.sleep(Math.min(early, milliseconds), signal);
    if (signal.aborted) return;
    this.#waiting.delete(key);
    this.add(key);
  }

  /** Works until `stop`; the reconciliation under way is finished. */
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
      // a conflict only says that the next look will see something newer
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
