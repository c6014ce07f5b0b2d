import type { MonitAction, MonitRestartLimit } from '../../bosh/monit/monit-service.ts';

/** Counts restarts for `if n restarts within m cycles` (monit: src/validate.c, check_timeout). */
export class RestartCount {
  readonly #limits: readonly MonitRestartLimit[];
  #restarts = 0;
  #cycles = 0;
  #isRestarted = false;

  constructor(limits: readonly MonitRestartLimit[]) {
    this.#limits = limits;
  }

  /** Records a restart. Several restarts in one cycle count as one, because monit restarts once per cycle. */
  recordRestart(): void {
    this.#isRestarted = true;
  }

  /** Begins the next cycle and returns the actions of the limits that are reached. */
  nextCycle(): readonly MonitAction[] {
    if (this.#limits.length === 0) return [];
    if (this.#isRestarted) this.#restarts++;
    this.#isRestarted = false;
    if (this.#restarts > 0) this.#cycles++;
    const due = this.#limits.filter(
      ({ restarts, cycles }) => this.#restarts >= restarts && this.#cycles <= cycles,
    );
    if (this.#cycles > Math.max(...this.#limits.map(({ cycles }) => cycles))) this.reset();
    return due.map(({ action }) => action);
  }

  reset(): void {
    this.#restarts = 0;
    this.#cycles = 0;
    this.#isRestarted = false;
  }
}
