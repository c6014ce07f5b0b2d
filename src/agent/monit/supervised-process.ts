import { ProductError } from '../../errors/product-error.ts';
import type { Clock } from '../clock.ts';
import { errorText } from '../file/error-code.ts';
import type { Log } from '../log.ts';
import { describeExit } from '../process/program.ts';
import type { ProgramExit, StartedProgram } from '../process/program.ts';
import type { LiveProcess, ProcessTable } from '../process/process-table.ts';
import type { SupervisionRecord } from './identity-file.ts';
import type { MonitProcess, MonitProgram } from './monit-process.ts';
import { processOfPidFile } from './pid-file.ts';
import type { PidFileReading } from './pid-file.ts';
import type { ProcessState } from './process-state.ts';
import { isGone } from '../process/is-gone.ts';
import { restartDelay } from './restart-delay.ts';

export interface SupervisionPorts {
  readonly table: ProcessTable;
  readonly clock: Clock;
  readonly log: Log;
  /** Starts a start or stop program in a session of its own. */
  readonly launch: (
    process: MonitProcess,
    program: MonitProgram,
    event: string,
    mark?: string,
  ) => StartedProgram;
  readonly newMark: () => string;
  /** Keeps who a process is, and the mark of its start program, over a restart of the agent. */
  readonly remember: (name: string, record: SupervisionRecord) => Promise<void>;
}

const pollMilliseconds = 1000;
const stopPollMilliseconds = 100;
const killWaitMilliseconds = 5000;
const settleMilliseconds = 2000;
const defaultStopSeconds = 30;
// after this long without an end a process counts as steady and its next restart is immediate again
const steadyMilliseconds = 30_000;

interface Starter {
  readonly program: StartedProgram;
  exit: ProgramExit | undefined;
}

interface Watch {
  readonly cancel: AbortController;
  readonly done: Promise<void>;
}

/** One process of a monit file: started, watched through its pidfile, started again when it ends, stopped. */
export class SupervisedProcess {
  readonly definition: MonitProcess;
  readonly #ports: SupervisionPorts;
  #state: ProcessState = 'unmonitored';
  #record: SupervisionRecord;
  #watch: Watch | undefined;
  #starter: Starter | undefined;
  #isStarting = false;

  constructor(definition: MonitProcess, ports: SupervisionPorts, record: SupervisionRecord) {
    this.definition = definition;
    this.#ports = ports;
    this.#record = record;
  }

  get state(): ProcessState {
    return this.#state;
  }

  /** The living process of the pidfile, whether it is watched or not. */
  async find(): Promise<LiveProcess | undefined> {
    return (await this.#read()).live;
  }

  /** Begins to watch: adopts the process where it lives, starts it where not. Idempotent. */
  watch(): void {
    if (this.#watch !== undefined) return;
    const cancel = new AbortController();
    this.#state = 'starting';
    this.#watch = { cancel, done: this.#keepAlive(cancel.signal) };
  }

  /** Ends watching; the process itself is left alone. */
  async unwatch(): Promise<void> {
    this.#watch?.cancel.abort();
    await this.#watch?.done;
    this.#watch = undefined;
    this.#state = 'unmonitored';
  }

  /**
   * Stops the process for good: its stop program, then, when the program's timeout is over, SIGKILL. Without a
   * stop program it gets SIGTERM first. Throws AGENT_JOB_FAILED when it still lives.
   */
  async stop(): Promise<void> {
    await this.unwatch();
    const live = await this.#settled();
    if (live !== undefined) await this.#end(live);
    // what its pidfile names from now on was not started here
    if (Object.keys(this.#record).length > 0) await this.#remember({ known: undefined, mark: undefined });
  }

  async #end(live: LiveProcess): Promise<void> {
    const { name, stop } = this.definition;
    this.#ports.log.info(`process '${name}': stopping pid ${live.pid}`);
    if (stop === undefined) await this.#ports.table.signal(live, 'SIGTERM');
    else this.#ports.launch(this.definition, stop, 'Stopped');
    if (await isGone(this.#ports, live, (stop?.timeoutSeconds ?? defaultStopSeconds) * 1000)) return;
    this.#ports.log.error(`process '${name}': pid ${live.pid} did not end in time, killing it`);
    await this.#ports.table.signal(live, 'SIGKILL');
    if (await isGone(this.#ports, live, killWaitMilliseconds)) return;
    this.#state = 'failing';
    throw new ProductError('AGENT_JOB_FAILED', `process '${name}' (pid ${live.pid}) lives on after SIGKILL`);
  }

  #read(): Promise<PidFileReading> {
    return processOfPidFile(this.definition.pidFile, this.#ports.table, this.#record);
  }

  async #keepAlive(signal: AbortSignal): Promise<void> {
    let restarts = 0;
    let since = this.#ports.clock.now();
    while (!signal.aborted) {
      try {
        const live = await this.find();
        if (live !== undefined) {
          await this.#noteAlive(live);
          if (this.#ports.clock.now() - since > steadyMilliseconds) restarts = 0;
          await this.#ports.clock.sleep(pollMilliseconds, signal);
          continue;
        }
        await this.#noteEnded();
        await this.#ports.clock.sleep(restartDelay(restarts), signal);
        restarts++;
        if (!signal.aborted) await this.#start(signal);
        since = this.#ports.clock.now();
      } catch (error) {
        // a supervisor outlives whatever went wrong; the state says so until the next look succeeds
        this.#state = 'failing';
        this.#ports.log.error(`process '${this.definition.name}': ${errorText(error)}`);
        await this.#ports.clock.sleep(pollMilliseconds, signal);
      }
    }
  }

  async #noteAlive(live: LiveProcess): Promise<void> {
    const { known } = this.#record;
    const isNew = known?.pid !== live.pid || known.startTicks !== live.startTicks;
    if (isNew || this.#state !== 'running') {
      this.#ports.log.info(`process '${this.definition.name}': running as pid ${live.pid}`);
    }
    this.#isStarting = false;
    this.#state = 'running';
    if (isNew) await this.#remember({ known: { pid: live.pid, startTicks: live.startTicks } });
  }

  async #noteEnded(): Promise<void> {
    if (this.#state === 'running') {
      this.#state = 'failing';
      this.#ports.log.error(
        `process '${this.definition.name}': pid ${this.#record.known?.pid} has ended, restarting it`,
      );
    }
    // its number may come back to the very process that is started next
    if (this.#record.known !== undefined) await this.#remember({ known: undefined });
  }

  async #remember(change: SupervisionRecord): Promise<void> {
    this.#record = { ...this.#record, ...change };
    await this.#ports.remember(this.definition.name, this.#record);
  }

  async #start(signal: AbortSignal): Promise<void> {
    const { name, start } = this.definition;
    // a start program that neither ended nor brought up its process must not do so beside the next one
    this.#starter?.program.signal('SIGKILL');
    this.#ports.log.info(`process '${name}': starting`);
    // one mark until a stop: what an earlier start began may be slow to write its pidfile
    const mark = this.#record.mark ?? this.#ports.newMark();
    await this.#remember({ mark }).catch((error: unknown) => {
      // a full disk must not keep a job from running; only a restart of the agent would miss this
      this.#ports.log.error(`process '${name}': its start is not recorded: ${errorText(error)}`);
    });
    const program = this.#ports.launch(this.definition, start, 'Started', mark);
    const starter: Starter = { program, exit: undefined };
    void program.exit.then((exit) => (starter.exit = exit));
    this.#starter = starter;
    this.#isStarting = true;
    const deadline = this.#ports.clock.now() + start.timeoutSeconds * 1000;
    let reading: PidFileReading | undefined;
    for (let wait = 25; this.#ports.clock.now() < deadline; wait = Math.min(wait * 2, 1000)) {
      reading = await this.#read();
      if (reading.live !== undefined || signal.aborted) return;
      if (starter.exit !== undefined && starter.exit.code !== 0) break;
      await this.#ports.clock.sleep(wait, signal);
    }
    if (signal.aborted) return;
    this.#isStarting = false;
    this.#state = 'failing';
    const why = starter.exit === undefined ? 'still runs' : describeExit(starter.exit);
    this.#ports.log.error(
      `process '${name}': did not come up: its start program ${why}; ${reading?.problem ?? 'no time to look'}`,
    );
  }

  /**
   * The living process; a start that was under way, or that outlived its timeout, is ended or waited for first, so that
   * nothing comes up later.
   */
  async #settled(): Promise<LiveProcess | undefined> {
    const live = await this.find();
    const startRuns = this.#starter !== undefined && this.#starter.exit === undefined;
    if (live !== undefined || !(this.#isStarting || startRuns)) return live;
    this.#starter?.program.signal('SIGKILL');
    this.#isStarting = false;
    const deadline = this.#ports.clock.now() + settleMilliseconds;
    while (this.#ports.clock.now() < deadline) {
      const late = await this.find();
      if (late !== undefined) return late;
      await this.#ports.clock.sleep(stopPollMilliseconds);
    }
    return undefined;
  }
}
