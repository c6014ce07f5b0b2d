import type {
  MonitAction,
  MonitRule,
  MonitService,
  MonitTest,
  MonitRate,
} from '../../bosh/monit/monit-service.ts';
import { printRule } from '../../bosh/monit/print-rule.ts';
import type { Clock } from '../../platform/clock.ts';
import { errorMessage } from '../file/error-code.ts';
import type { Log } from '../log.ts';
import type { LiveProcess, ProcessTable } from '../process/process-table.ts';
import type { Probes } from './probes.ts';
import { cpuPercent, sampleTree, type ProcessSample } from './process-sample.ts';
import { type RuleProblem, type ServiceAlert, serviceAlert } from './service-alert.ts';

export interface RuleCheckPorts {
  readonly table: ProcessTable;
  readonly probes: Probes;
  readonly clock: Clock;
  readonly log: Log;
  /** Reports a problem of a service to the health monitor. */
  readonly alert: (alert: ServiceAlert) => void;
}

interface RuleEntry {
  readonly rule: MonitRule;
  readonly state: RuleState;
  /** The last value, for a test for changes. */
  lastValue: string | undefined;
}

/** The rules of one service except `does not exist`, which decides if there is anything to check. */
export class RuleChecks {
  readonly #definition: MonitService;
  readonly #ports: RuleCheckPorts;
  readonly #checked: readonly RuleEntry[];
  #sample: ProcessSample | undefined;

  constructor(definition: MonitService, ports: RuleCheckPorts) {
    this.#definition = definition;
    this.#ports = ports;
    this.#checked = definition.rules
      .filter(({ test }) => test.kind !== 'nonexistent')
      .map((rule) => ({ rule, state: new RuleState(rule), lastValue: undefined }));
  }

  get problems(): readonly RuleProblem[] {
    return this.#checked.filter(({ state }) => state.isFailed).map(({ rule }) => problemOf(rule.test));
  }

  /** Forgets all earlier values. `isRestart`: see {@link RuleState.reset}. */
  reset({ isRestart }: { readonly isRestart: boolean }): void {
    for (const one of this.#checked) {
      one.state.reset({ isRestart });
      one.lastValue = undefined;
    }
    this.#sample = undefined;
  }

  /**
   * Evaluates every rule once and returns the actions that are due. `live` is the process, if the service is
   * a process.
   */
  async evaluate(live: LiveProcess | undefined): Promise<readonly MonitAction[]> {
    const sample = await this.#takeSample(live);
    const definition = this.#definition;
    const due: MonitAction[] = [];
    for (const one of this.#checked) {
      const finding = await this.#inspect(one, live, sample);
      if (finding === undefined) continue;
      const result = one.state.record(finding.finding);
      if (result === undefined) continue;
      const { action, isNewFailure } = result;
      this.#ports.log.info(`'${definition.name}': ${printRule(one.rule)}: ${finding.detail}`);
      if (isNewFailure) this.#ports.alert(serviceAlert(definition, problemOf(one.rule.test), action.kind));
      due.push(action);
    }
    this.#sample = sample;
    return due;
  }

  async #takeSample(live: LiveProcess | undefined): Promise<ProcessSample | undefined> {
    const isNeeded = this.#checked.some(
      ({ rule: { test } }) => test.kind === 'resource' || (test.kind === 'changed' && test.what === 'ppid'),
    );
    if (live === undefined || !isNeeded) return undefined;
    return sampleTree(live, await this.#ports.table.list(), this.#ports.clock.now());
  }

  async #inspect(
    one: RuleEntry,
    live: LiveProcess | undefined,
    sample: ProcessSample | undefined,
  ): Promise<{ readonly finding: Finding; readonly detail: string } | undefined> {
    const { test } = one.rule;
    const { probes } = this.#ports;
    if (test.kind === 'connection') {
      const problem = await probes.connect(test);
      return { finding: problem === undefined ? 'passed' : 'failed', detail: problem ?? 'succeeded' };
    }
    if (test.kind === 'resource') {
      const value = valueOf(test, probes, { sample, previous: this.#sample });
      if (value === undefined) return undefined;
      return { finding: compare(value, test) ? 'failed' : 'passed', detail: `it is ${value.toFixed(1)}` };
    }
    if (test.kind === 'nonexistent') return undefined;
    const now = await this.#changing(test.what, live, sample);
    if (now === undefined) return undefined;
    const { lastValue } = one;
    one.lastValue = now;
    if (lastValue === undefined) return undefined;
    return {
      finding: lastValue === now ? 'unchanged' : 'changed',
      detail: `${lastValue} before, ${now} now`,
    };
  }

  async #changing(
    what: Extract<MonitTest, { kind: 'changed' }>['what'],
    live: LiveProcess | undefined,
    sample: ProcessSample | undefined,
  ): Promise<string | undefined> {
    if (what === 'pid') return live === undefined ? undefined : String(live.pid);
    if (what === 'ppid') return sample === undefined ? undefined : String(sample.parentPid);
    const { name, subject } = this.#definition;
    if (subject.kind !== 'file') return undefined;
    const { path } = subject;
    if (what === 'timestamp') {
      const file = await this.#ports.probes.file(path);
      return file === undefined ? undefined : new Date(file.changedAt).toISOString();
    }
    try {
      return await this.#ports.probes.checksum(path);
    } catch (error) {
      this.#ports.log.error(`'${name}': no checksum: ${errorMessage(error)}`);
      return undefined;
    }
  }
}

function problemOf(test: MonitTest): RuleProblem {
  if (test.kind === 'connection') return 'Connection failed';
  if (test.kind !== 'changed') return 'Resource limit matched';
  return changeProblems[test.what];
}

const changeProblems = {
  pid: 'PID changed',
  ppid: 'PPID changed',
  timestamp: 'Timestamp changed',
  checksum: 'Checksum changed',
} as const;

type ResourceTest = Extract<MonitTest, { kind: 'resource' }>;

/** Returns undefined if there is nothing to measure yet. */
function valueOf(
  { resource, unit }: ResourceTest,
  probes: Probes,
  {
    sample,
    previous,
  }: { readonly sample: ProcessSample | undefined; readonly previous: ProcessSample | undefined },
): number | undefined {
  const [one = 0, five = 0, fifteen = 0] = probes.loadAverages();
  const memory = (kilobytes: number): number =>
    unit === '%' ? (kilobytes / probes.memoryKilobytes) * 100 : kilobytes;
  const cpu = (isTotal: boolean): number | undefined =>
    previous === undefined || sample === undefined
      ? undefined
      : cpuPercent(previous, sample, { processors: probes.processors, isTotal });
  switch (resource) {
    case 'loadavg(1min)':
      return one;
    case 'loadavg(5min)':
      return five;
    case 'loadavg(15min)':
      return fifteen;
    case 'mem':
      return sample === undefined ? undefined : memory(sample.memoryKilobytes);
    case 'totalmem':
      return sample === undefined ? undefined : memory(sample.totalMemoryKilobytes);
    case 'children':
      return sample?.children;
    case 'cpu':
      return cpu(false);
    case 'totalcpu':
      return cpu(true);
  }
}

// Values are compared with one decimal, as in monit. The small constant compensates for rounding errors of a
// division.
const roundToTenth = (value: number): number => Math.floor(value * 10 + 1e-6);

function compare(value: number, { operator, limit }: ResourceTest): boolean {
  const known = roundToTenth(value);
  const compared = roundToTenth(limit);
  switch (operator) {
    case '>':
      return known > compared;
    case '<':
      return known < compared;
    case '=':
      return known === compared;
    case '!=':
      return known !== compared;
  }
}

/** The result of one test of a rule. `changed` and `unchanged` are results of tests for changes. */
export type Finding = 'failed' | 'passed' | 'changed' | 'unchanged';

const onceRate: MonitRate = { count: 1, cycles: 1 };
const maxCycles = 64;

/** An action that is due, and whether its rule has just failed, so that an alert is due as well. */
export interface DueAction {
  readonly action: MonitAction;
  readonly isNewFailure: boolean;
}

/** The history of one rule, cycle by cycle (monit: src/event.c, Event_post). */
export class RuleState {
  readonly #rule: Pick<MonitRule, 'rate' | 'action' | 'recovery'>;
  /** Newest first; true if the test failed. */
  #history: readonly boolean[] = [];
  #state: Finding | undefined;
  /** True from a new failure until the rule has recovered, also across restarts of its service. */
  #isReported = false;

  constructor(rule: Pick<MonitRule, 'rate' | 'action' | 'recovery'>) {
    this.#rule = rule;
  }

  /** True from the moment when its action was due until it has recovered. */
  get isFailed(): boolean {
    return this.#state === 'failed' || this.#state === 'changed';
  }

  /**
   * Records the finding of a cycle and returns the action that is due. The action is due in each cycle that
   * fails once the rate is reached; the action of the recovery is due once, and only after a failure. A
   * failure is new if the rule was not failed before, and each change is (monit: src/alert.c, handle_alert).
   */
  record(finding: Finding): DueAction | undefined {
    const hasFailed = finding === 'failed' || finding === 'changed';
    if (this.#history.length === 0 && !hasFailed) {
      this.#isReported = false;
      return undefined;
    }
    this.#history = [hasFailed, ...this.#history].slice(0, maxCycles);
    const isNews = finding === 'changed' || finding !== this.#state;
    const mayChange = hasFailed || this.#state !== undefined;
    const changes = isNews && mayChange && this.#isReached(hasFailed);
    if (changes) this.#state = finding;
    if (hasFailed) return this.isFailed ? this.#failure(changes) : undefined;
    if (!this.isFailed) this.#isReported = false;
    const recovery = changes ? this.#rule.recovery?.action : undefined;
    return recovery && { action: recovery, isNewFailure: false };
  }

  #failure(changes: boolean): DueAction {
    const isNewFailure = changes && (this.#state === 'changed' || !this.#isReported);
    this.#isReported = true;
    return { action: this.#rule.action, isNewFailure };
  }

  #isReached(hasFailed: boolean): boolean {
    const { rate, recovery } = this.#rule;
    const { count, cycles } = hasFailed ? rate : (recovery?.rate ?? onceRate);
    return this.#history.slice(0, cycles).filter((one) => one === hasFailed).length >= count;
  }

  /**
   * Forgets the history, so that the cycles are counted from 0. After a restart of the service, a failure
   * that lasts is not a new one.
   */
  reset({ isRestart }: { readonly isRestart: boolean }): void {
    this.#history = [];
    this.#state = undefined;
    if (!isRestart) this.#isReported = false;
  }
}
