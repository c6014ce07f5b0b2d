import type { MonitRestartLimit } from '../../bosh/monit/monit-service.ts';
import type { DueAction } from './rule-checks.ts';

/** Counts restarts for `if n restarts within m cycles` (monit: src/validate.c, check_timeout). */
export class RestartCount {
  readonly #limits: readonly MonitRestartLimit[];
  #restarts = 0;
  #cycles = 0;
  #isRestarted = false;
  readonly #reached = new Set<MonitRestartLimit>();

  constructor(limits: readonly MonitRestartLimit[]) {
    this.#limits = limits;
  }

  /** Records a restart. Several restarts in one cycle count as one, because monit restarts once per cycle. */
  recordRestart(): void {
    this.#isRestarted = true;
  }

  /** Begins the next cycle and returns the actions of the limits that are reached. */
  nextCycle(): readonly DueAction[] {
    if (this.#limits.length === 0) return [];
    if (this.#isRestarted) this.#restarts++;
    this.#isRestarted = false;
    if (this.#restarts > 0) this.#cycles++;
    const due = this.#limits.filter(
      ({ restarts, cycles }) => this.#restarts >= restarts && this.#cycles <= cycles,
    );
    const actions = due.map((limit) => ({ action: limit.action, isNewFailure: !this.#reached.has(limit) }));
    for (const limit of due) this.#reached.add(limit);
    if (this.#cycles > Math.max(...this.#limits.map(({ cycles }) => cycles))) this.reset();
    return actions;
  }

  reset(): void {
    this.#reached.clear();
    this.#restarts = 0;
    this.#cycles = 0;
    this.#isRestarted = false;
  }
}

const maxDelayMs = 10_000;

/**
 * Returns how long to wait, in milliseconds, before the next start of a process that has been started
 * `restarts` times without staying up for half a minute: 0, then 1, 2, 4, 8 and at most 10 s. monit tries in
 * every cycle, every 10 s on stemcells, and never gives up. This supervisor never gives up, either.
 */
export function restartDelay(restarts: number): number {
  if (restarts === 0) return 0;
  return Math.min(1000 * 2 ** Math.min(restarts - 1, 10), maxDelayMs);
}
