import type { MonitAction, MonitRate, MonitRule } from '../../bosh/monit/monit-service.ts';

/** What a look at a rule's test says; `changed` and `unchanged` are of tests for changes. */
export type Finding = 'failed' | 'passed' | 'changed' | 'unchanged';

const onceRate: MonitRate = { count: 1, cycles: 1 };
const maxCycles = 64;

/** How one rule has gone, cycle by cycle (monit: src/event.c, Event_post). */
export class RuleState {
  readonly #rule: Pick<MonitRule, 'rate' | 'action' | 'recovery'>;
  /** Newest first; true for failed. */
  #history: readonly boolean[] = [];
  #state: Finding | undefined;

  constructor(rule: Pick<MonitRule, 'rate' | 'action' | 'recovery'>) {
    this.#rule = rule;
  }

  /** True from the moment that its action was due until it has recovered. */
  get isFailed(): boolean {
    return this.#state === 'failed' || this.#state === 'changed';
  }

  /**
   * Notes what a cycle found and answers the action that is due now: in each cycle that fails once the rate
   * is reached, and the one of the recovery once. Nothing passes before something has failed.
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

  /** Forgets all, as after a restart: the cycles count anew. */
  reset(): void {
    this.#history = [];
    this.#state = undefined;
  }
}
