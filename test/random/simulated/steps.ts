import { setImmediate as turn } from 'node:timers/promises';
import type fc from 'fast-check';

interface Waiting {
  readonly label: string;
  readonly isReady: () => boolean;
  readonly proceed: () => void;
  isHeld: boolean;
}

/** With hasty waits, time may pass at one of so many steps. */
const hastyEvery = 8;

/**
 * Serializes all actions: requests, kubelets, controllers and jobs wait for their next step, and fast-check's
 * scheduler chooses which one is next. Before each step, everything that can run without a step has run, so
 * the scheduler's seed determines the run.
 */
export class Steps {
  readonly #scheduler: fc.Scheduler;
  readonly #waiting = new Set<Waiting>();
  /** The log in order: the steps and the notes. */
  readonly trace: string[] = [];
  /** Waits may end before everything has happened that could. */
  isHasty = false;
  #count = 0;

  constructor(scheduler: fc.Scheduler) {
    this.#scheduler = scheduler;
  }

  /** Waits for its turn. */
  async step(label: string): Promise<void> {
    await this.#scheduler.schedule(Promise.resolve(), label);
    this.trace.push(label);
  }

  /** Whether time may pass now: normally only if nothing else can happen. */
  get mayTimePass(): boolean {
    return this.#scheduler.count() === 0 || (this.isHasty && this.#count % hastyEvery === 0);
  }

  note(message: string): void {
    this.trace.push(`  ${message}`);
  }

  /** Waits for its turn once the condition holds. The condition also holds when this resolves. */
  when(label: string, isReady: () => boolean): Promise<void> {
    return new Promise((proceed) => {
      this.#waiting.add({ label, isReady, proceed, isHeld: false });
    });
  }

  /**
   * Lets steps happen until the condition holds. Returns false if no step is left, or if `limit` steps were
   * not enough.
   */
  async runUntil(isOver: () => boolean, afterEach: () => void, limit: number): Promise<boolean> {
    for (let remaining = limit; remaining > 0; remaining -= 1) {
      await this.#settle();
      afterEach();
      if (isOver()) return true;
      if (this.#scheduler.count() === 0) return false;
      this.#count += 1;
      await this.#scheduler.waitNext(1);
    }
    return false;
  }

  /** Waits until everything has run that needs no step, and all that can continue wait for one. */
  async #settle(): Promise<void> {
    await turn();
    for (const waiting of this.#waiting) {
      if (waiting.isHeld || !waiting.isReady()) continue;
      waiting.isHeld = true;
      void this.#scheduler.schedule(Promise.resolve(), waiting.label).then(() => this.#proceed(waiting));
    }
    await turn();
  }

  /** Checks the condition again: it may have changed since the step was requested. */
  #proceed(waiting: Waiting): void {
    waiting.isHeld = false;
    if (!waiting.isReady()) return;
    this.#waiting.delete(waiting);
    this.trace.push(waiting.label);
    waiting.proceed();
  }
}
