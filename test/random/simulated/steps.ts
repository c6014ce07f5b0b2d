import { setImmediate as turn } from 'node:timers/promises';
import type fc from 'fast-check';

interface Waiting {
  readonly label: string;
  readonly isReady: () => boolean;
  readonly proceed: () => void;
  isHeld: boolean;
}

/** One step of so many may be one of time where waits are hasty. */
const hastyEvery = 8;

/**
 * One thing at a time: requests, kubelets, controllers and jobs ask for their next step, and fast-check's
 * scheduler chooses whose turn it is. Between two steps everything that can run has run, so a run is what its
 * scheduler's seed says.
 */
export class Steps {
  readonly #scheduler: fc.Scheduler;
  readonly #waiting = new Set<Waiting>();
  /** What happened, in order: the steps and what others note. */
  readonly trace: string[] = [];
  /** Waits may end before all has happened that could. */
  isHasty = false;
  #count = 0;

  constructor(scheduler: fc.Scheduler) {
    this.#scheduler = scheduler;
  }

  /** Resolves when it is this one's turn. */
  async step(label: string): Promise<void> {
    await this.#scheduler.schedule(Promise.resolve(), label);
    this.trace.push(label);
  }

  /** Whether time may pass now: as a rule it does when nothing else can happen. */
  get mayTimePass(): boolean {
    return this.#scheduler.count() === 0 || (this.isHasty && this.#count % hastyEvery === 0);
  }

  note(words: string): void {
    this.trace.push(`  ${words}`);
  }

  /** The same as soon as the condition holds; it holds when this resolves. */
  when(label: string, isReady: () => boolean): Promise<void> {
    return new Promise((proceed) => {
      this.#waiting.add({ label, isReady, proceed, isHeld: false });
    });
  }

  /**
   * Lets steps happen until the condition holds. False: nothing happens any more, or `limit` steps were not
   * enough.
   */
  async runUntil(isOver: () => boolean, afterEach: () => void, limit: number): Promise<boolean> {
    for (let left = limit; left > 0; left -= 1) {
      await this.#settle();
      afterEach();
      if (isOver()) return true;
      if (this.#scheduler.count() === 0) return false;
      this.#count += 1;
      await this.#scheduler.waitNext(1);
    }
    return false;
  }

  /** Until everything has run that needs no step, and whoever can go on now asks for one. */
  async #settle(): Promise<void> {
    await turn();
    for (const waiting of this.#waiting) {
      if (waiting.isHeld || !waiting.isReady()) continue;
      waiting.isHeld = true;
      void this.#scheduler.schedule(Promise.resolve(), waiting.label).then(() => this.#proceed(waiting));
    }
    await turn();
  }

  /** What was true when the step was asked for may be so no more. */
  #proceed(waiting: Waiting): void {
    waiting.isHeld = false;
    if (!waiting.isReady()) return;
    this.#waiting.delete(waiting);
    this.trace.push(waiting.label);
    waiting.proceed();
  }
}
