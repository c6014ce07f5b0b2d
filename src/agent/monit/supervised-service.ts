import { isProcess, type MonitProgram, type MonitService } from '../../bosh/monit/monit-service.ts';
import { errorMessage } from '../file/error-code.ts';
import type { LiveProcess } from '../process/process-table.ts';
import { describeExit, type ProgramExit } from '../process/programs.ts';
import type { SupervisionRecord } from './supervision-state.ts';
import { checkService, type ServiceStatus } from './check-service.ts';
import { RestartCount, restartDelay } from './restarts.ts';
import { RuleChecks, RuleState } from './rule-checks.ts';
import { type ServiceAlert, serviceAlert, type ServiceProblem } from './service-alert.ts';
import { StartRun } from './start-run.ts';
import { runStopProgram, stopProcess } from './stop-program.ts';
import type { SupervisionPorts } from './supervision-ports.ts';

/**
 * The state of one service: `starting` until it is first found up; `running`; `failing` if it has ended, did
 * not come up or a rule of its monit file has failed; `unmonitored` if it is not monitored.
 */
export type ProcessState = 'starting' | 'running' | 'failing' | 'unmonitored';

const pollMilliseconds = 100;
const startGraceMs = 2000;
// A process that has run this long counts as steady, and its next restart is immediate again.
const steadyMilliseconds = 30_000;

/**
 * One service of a monit file: its state, and how it is started and stopped. DependencyGroup decides when.
 */
export class SupervisedService {
  readonly definition: MonitService;
  readonly checks: RuleChecks;
  readonly restarts: RestartCount;
  /** The state of its own rule `if does not exist`. Without such a rule a missing service is restarted. */
  readonly existence: RuleState | undefined;
  readonly #ports: SupervisionPorts;
  readonly #others: () => readonly SupervisedService[];
  readonly #problems = new Set<'Does not exist' | 'Execution failed'>();
  #isMonitored = false;
  #isSeen = false;
  #record: SupervisionRecord;
  #startRun: StartRun | undefined;
  #lastExit: ProgramExit | undefined;
  #isStarting = false;
  #attempts = 0;
  #startedAt = 0;
  #nextStartAt = 0;

  /** `others` returns the services whose start program starts this service as well. */
  constructor(
    definition: MonitService,
    ports: SupervisionPorts,
    record: SupervisionRecord,
    others: () => readonly SupervisedService[] = () => [],
  ) {
    this.definition = definition;
    this.#others = others;
    this.checks = new RuleChecks(definition, ports);
    this.restarts = new RestartCount(definition.restartLimits);
    const rule = definition.rules.find(({ test }) => test.kind === 'nonexistent');
    this.existence = rule === undefined ? undefined : new RuleState(rule);
    this.#ports = ports;
    this.#record = record;
  }

  get isMonitored(): boolean {
    return this.#isMonitored;
  }

  /**
   * True if the last action was `monit stop` or `unmonitor`. A restarted agent does not start the service
   * then.
   */
  get isUserStopped(): boolean {
    return this.#record.isLeftAlone === true;
  }

  get state(): ProcessState {
    if (!this.#isMonitored) return 'unmonitored';
    if (this.problems.length > 0) return 'failing';
    return this.#isSeen ? 'running' : 'starting';
  }

  get problems(): readonly ServiceProblem[] {
    return [...this.#problems, ...this.checks.problems];
  }

  /** Returns the running process of a service that is a process, whether it is monitored or not. */
  async find(): Promise<LiveProcess | undefined> {
    return (await this.check()).live;
  }

  /** Checks whether the service is up: it is up if the result has no problem. */
  check(): Promise<ServiceStatus> {
    return checkService(this.definition.subject, this.#ports, {
      known: this.#record.known,
      marks: this.#marks,
    });
  }

  /** Monitors the service from now on. */
  monitor(): void {
    this.#isMonitored = true;
  }

  /** Stops monitoring. Does not change the service. */
  unmonitor(): void {
    this.#isMonitored = false;
    this.#isSeen = false;
    this.#problems.clear();
    this.#attempts = 0;
    this.#nextStartAt = 0;
    this.restarts.reset();
    this.resetRules();
  }

  /** Forgets the history of all rules. After a restart, a failure that lasts does not alert again. */
  resetRules({ isRestart } = { isRestart: false }): void {
    this.checks.reset({ isRestart });
    this.existence?.reset({ isRestart });
  }

  /** Reports an event and the action that follows to the health monitor. */
  alert(event: ServiceAlert['event'], action: ServiceAlert['action']): void {
    this.#ports.alert(serviceAlert(this.definition, event, action));
  }

  /** Records whether the user stopped the service. The record survives a restart of the agent. */
  async setUserStopped(isUserStopped: boolean): Promise<void> {
    if (this.isUserStopped !== isUserStopped)
      await this.#remember({ isLeftAlone: isUserStopped || undefined });
  }

  /** Returns false during the delay between two starts. */
  isStartAllowed(): boolean {
    return this.#ports.clock.now() >= this.#nextStartAt;
  }

  /** Records that the service is up, and its process if it has one. */
  async markUp(live: LiveProcess | undefined): Promise<void> {
    const { known } = this.#record;
    const isNew = live !== undefined && (known?.pid !== live.pid || known.startTicks !== live.startTicks);
    if (isNew || !this.#isSeen || this.#problems.size > 0) {
      this.#ports.log.info(`${this.label}: running${live === undefined ? '' : ` as pid ${live.pid}`}`);
    }
    this.#isStarting = false;
    this.#isSeen = true;
    this.#problems.clear();
    if (this.#ports.clock.now() - this.#startedAt > steadyMilliseconds) this.#attempts = 0;
    if (isNew) await this.#remember({ known: { pid: live.pid, startTicks: live.startTicks } });
  }

  /**
   * Records that the service is down. If it was never up and a start follows, that start decides about its
   * state. Alerts unless the service has a rule of its own, which decides when.
   */
  async markDown(problem: string, isStarted: boolean): Promise<void> {
    this.#isSeen ||= !isStarted;
    if (this.#isSeen && !this.#problems.has('Does not exist')) {
      this.#problems.add('Does not exist');
      const pid = this.#record.known?.pid;
      this.#ports.log.error(`${this.label}: ${pid === undefined ? problem : `pid ${pid} has ended`}`);
      if (this.existence === undefined) this.alert('Does not exist', 'restart');
    }
    // The pid may be reused by the very process that is started next.
    if (this.#record.known !== undefined) await this.#remember({ known: undefined });
  }

  /** The exit of the last start program that ended, if it is known. Another one may be running. */
  get lastExit(): string | undefined {
    return this.#lastExit === undefined ? undefined : describeExit(this.#lastExit);
  }

  /** Records that an action on the service failed. Alerts if it is the first failure since it was up. */
  markFailed(cause: string): void {
    if (!this.#problems.has('Execution failed')) this.alert('Execution failed', 'alert');
    this.#problems.add('Execution failed');
    this.#ports.log.error(`${this.label}: ${cause}`);
  }

  /** `process 'web'` */
  get label(): string {
    const { name, subject } = this.definition;
    return `${isProcess(this.definition) ? 'process' : subject.kind} '${name}'`;
  }

  /**
   * Runs the start program and waits until the service is up or the program's timeout has passed. `signal`
   * ends the wait.
   */
  async start(signal: AbortSignal): Promise<void> {
    const { start, subject } = this.definition;
    if (start === undefined) return this.#recordAttempt();
    if (await this.#comesUpByOther(start, signal)) return;
    // If the previous start program is still running, kill it: it must not bring up its process beside the
    // next one.
    this.#startRun?.program.signal('SIGKILL');
    this.#ports.log.info(`${this.label}: starting`);
    this.#recordAttempt();
    const run = this.#launchStart(start, await this.#mark());
    if (subject.kind === 'host') return;
    this.#isStarting = true;
    const deadline = this.#ports.clock.now() + start.timeoutSeconds * 1000;
    let problem = 'not checked in time';
    for (let wait = 25; this.#ports.clock.now() < deadline; wait = Math.min(wait * 2, 1000)) {
      const reading = await this.check();
      if (reading.problem === undefined) return this.markUp(reading.live);
      if (signal.aborted) return;
      problem = reading.problem;
      if (run.exit !== undefined && (run.exit.code !== 0 || subject.kind === 'file')) break;
      await this.#ports.clock.sleep(wait, signal);
    }
    if (signal.aborted) return;
    this.#isStarting = false;
    this.#isSeen = true;
    this.#nextStartAt = this.#ports.clock.now() + restartDelay(this.#attempts);
    const reason = run.exit === undefined ? 'still runs' : describeExit(run.exit);
    this.markFailed(`did not come up: its start program ${reason}; ${problem}`);
  }

  /**
   * Stops the service: runs its stop program, or sends SIGTERM if it has none. Sends SIGKILL to the process
   * if it is still running after the program's timeout. Throws AGENT_JOB_FAILED if it is still running after
   * that.
   */
  async stop(): Promise<void> {
    if (isProcess(this.definition)) {
      const live = await this.#findAfterPendingStart();
      if (live !== undefined) await stopProcess(this, { live, isOwn: this.#isOwn(live) }, this.#ports);
    } else {
      this.#startRun?.program.signal('SIGKILL');
      await runStopProgram(this, this.#ports);
    }
    // A process that the pidfile names from now on was not started here.
    const { known, mark } = this.#record;
    if (known !== undefined || mark !== undefined)
      await this.#remember({ known: undefined, mark: undefined });
  }

  /** The marks of its own start program, of the other start programs that start it, and of its job's scripts. */
  get #marks(): readonly string[] {
    const own = [this, ...this.#others()].map((one) => one.#record.mark);
    return [...own, this.#ports.scriptMark(this.definition.job)].filter((mark) => mark !== undefined);
  }

  /** Returns true if the process may be killed. Any user can have one whose command line matches. */
  #isOwn({ mark }: LiveProcess): boolean {
    return this.definition.subject.kind === 'pidfile' || (mark !== undefined && this.#marks.includes(mark));
  }

  /**
   * Waits for a run of the same start program that another service started. Returns true if that run brings
   * the service up or if `signal` aborts.
   */
  async #comesUpByOther(start: MonitProgram, signal: AbortSignal): Promise<boolean> {
    const { clock } = this.#ports;
    const runs = this.#others()
      .flatMap((other) => other.#startRun ?? [])
      .filter(({ exit }) => (exit?.code ?? 0) === 0);
    while (runs.some((run) => clock.now() < run.deadline(start.timeoutSeconds * 1000))) {
      const reading = await this.check();
      if (reading.problem === undefined) await this.markUp(reading.live);
      if (reading.problem === undefined || signal.aborted) return true;
      await clock.sleep(pollMilliseconds, signal);
    }
    return signal.aborted;
  }

  #recordAttempt(): void {
    this.#attempts++;
    this.#startedAt = this.#ports.clock.now();
    this.#nextStartAt = this.#startedAt + restartDelay(this.#attempts);
  }

  async #mark(): Promise<string> {
    // Keep the mark until stop: a process of an earlier start may write its pidfile late.
    const mark = this.#record.mark ?? this.#ports.newMark();
    await this.#remember({ mark }).catch((error: unknown) => {
      // A full disk must not keep a job from running. Only a restarted agent would need the mark.
      this.#ports.log.error(`${this.label}: its start could not be recorded: ${errorMessage(error)}`);
    });
    return mark;
  }

  #launchStart(start: MonitProgram, mark: string): StartRun {
    const program = this.#ports.launch(this.definition, start, 'Started', mark);
    const run = new StartRun(program, this.#ports.clock);
    void program.exit.then((exit) => {
      // Ignore the exit of a program that was killed and replaced, because the exit of the current program
      // tells the cause.
      if (this.#startRun === run) this.#lastExit = exit;
    });
    this.#startRun = run;
    return run;
  }

  /**
   * Returns the running process. First ends or waits for a start that is still running, or that outlived its
   * timeout, so that nothing comes up later.
   */
  async #findAfterPendingStart(): Promise<LiveProcess | undefined> {
    const live = await this.find();
    const runs = [this, ...this.#others()].flatMap((one) => one.#startRun ?? []);
    const isStartRunning = runs.some(({ exit }) => exit === undefined);
    if (live !== undefined || !(this.#isStarting || isStartRunning)) return live;
    this.#startRun?.program.signal('SIGKILL');
    this.#isStarting = false;
    const deadline = this.#ports.clock.now() + startGraceMs;
    while (this.#ports.clock.now() < deadline) {
      const late = await this.find();
      if (late !== undefined) return late;
      await this.#ports.clock.sleep(pollMilliseconds);
    }
    return undefined;
  }

  async #remember(change: SupervisionRecord): Promise<void> {
    this.#record = { ...this.#record, ...change };
    await this.#ports.remember(this.definition.name, this.#record);
  }
}
