import type { MonitAction, MonitRate, MonitRule } from '../../bosh/monit/monit-service.ts';

/** The result of one test of a rule. `changed` and `unchanged` are results of tests for changes. */
export type Finding = 'failed' | 'passed' | 'changed' | 'unchanged';

const onceRate: MonitRate = { count: 1, cycles: 1 };
const maxCycles = 64;

/** The history of one rule, cycle by cycle (monit: src/event.c, Event_post). */
export class RuleState {
  readonly #rule: Pick<MonitRule, 'rate' | 'action' | 'recovery'>;
  /** Newest first; true if the test failed. */
  #history: readonly boolean[] = [];
  #state: Finding | undefined;

  constructor(rule: Pick<MonitRule, 'rate' | 'action' | 'recovery'>) {
    this.#rule = rule;
  }

  /** True from the moment when its action was due until it has recovered. */
  get isFailed(): boolean {
    return this.#state === 'failed' || this.#state === 'changed';
  }

  /**
   * Records the finding of a cycle and returns the action that is due. The action is due in each cycle that
   * fails once the rate is reached; the action of the recovery is due once. Recovery is reported only after a
   * failure.
   */
  record(finding: Finding): MonitAction | undefined {
    const hasFailed = finding === 'failed' || finding === 'changed';
    if (this.#history.length === 0 && !hasFailed) return undefined;
    this.#history = [hasFailed, ...this.#history].slice(0, maxCycles);
    const isNews = finding === 'changed' || finding !== this.#state;
    const mayChange = hasFailed || this.#state !== undefined;
    const changes = isNews && mayChange && this.#isReached(hasFailed);
    if (changes) this.#state = finding;
    const { action, recovery } = this.#rule;
    if (hasFailed) return this.isFailed ? action : undefined;
    return changes ? recovery?.action : undefined;
  }

  #isReached(hasFailed: boolean): boolean {
    const { rate, recovery } = this.#rule;
    const { count, cycles } = hasFailed ? rate : (recovery?.rate ?? onceRate);
    return this.#history.slice(0, cycles).filter((one) => one === hasFailed).length >= count;
  }

  /** Forgets the history, as after a restart, so that the cycles are counted from 0. */
  reset(): void {
    this.#history = [];
    this.#state = undefined;
  }
}
