import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ProductError } from '../../errors/product-error.ts';
import type { Clock } from '../clock.ts';
import type { Directories } from '../directories.ts';
import { readFileIfPresent, writeDurableFile } from '../file/durable-file.ts';
import type { Log } from '../log.ts';
import { newLaunchMark } from '../process/launch-mark.ts';
import type { LiveProcess, ProcessTable } from '../process/process-table.ts';
import type { Programs } from '../process/program.ts';
import type { Identities } from '../user/identities.ts';
import { IdentityFile } from './identity-file.ts';
import { launchProgram } from './launch.ts';
import type { MonitProcess } from './monit-process.ts';
import { jobStateOf } from './process-state.ts';
import type { JobState, ProcessState } from './process-state.ts';
import { SupervisedProcess } from './supervised-process.ts';
import type { SupervisionPorts } from './supervised-process.ts';

export interface JobSupervisorOptions {
  readonly directories: Directories;
  readonly programs: Programs;
  readonly table: ProcessTable;
  readonly identities: Identities;
  readonly clock: Clock;
  readonly log: Log;
}

/** A process as get_state tells it. */
export interface ProcessStatus {
  readonly name: string;
  readonly state: ProcessState;
  readonly live: LiveProcess | undefined;
}

/**
 * Supervises the processes of all jobs, as monit does on a stemcell. The file monit/stopped says that `stop` was
 * the last word; without it a restart of the agent or of the VM runs every job again.
 */
export class JobSupervisor {
  readonly #stoppedPath: string;
  readonly #identityFile: IdentityFile;
  readonly #ports: SupervisionPorts;
  #processes: readonly SupervisedProcess[] = [];
  readonly #problems = new Map<'spec' | 'disk', string>();

  constructor(options: JobSupervisorOptions) {
    const { directories, programs, identities, clock } = options;
    this.#stoppedPath = join(directories.monit, 'stopped');
    this.#identityFile = new IdentityFile(directories);
    this.#ports = {
      table: options.table,
      clock,
      log: options.log,
      launch: (...call) => launchProgram({ programs, identities, now: () => clock.now() }, ...call),
      newMark: newLaunchMark,
      remember: (name, record) => this.#identityFile.set(name, record),
    };
  }

  /** Reads what an earlier life of the agent knew. */
  async prepare(): Promise<void> {
    await this.#identityFile.load();
  }

  /** Takes these processes over without starting any; a living one that is not among them is stopped first. */
  async replace(definitions: readonly MonitProcess[]): Promise<void> {
    await this.unmonitor();
    const kept = new Set(definitions.map((definition) => definition.name));
    await stopAll(this.#processes.filter((process) => !kept.has(process.definition.name)));
    this.#processes = definitions.map(
      (definition) => new SupervisedProcess(definition, this.#ports, this.#identityFile.get(definition.name)),
    );
  }

  /** Says what keeps jobs from running now, or that it no longer does; with a problem the state is `failing`. */
  hold(what: 'spec' | 'disk', problem: string | undefined): void {
    if (problem === undefined) this.#problems.delete(what);
    else this.#problems.set(what, problem);
  }

  /** Starts every process and watches it; answers at once, `state` says how it goes. Throws while something holds. */
  async start(): Promise<void> {
    for (const problem of this.#problems.values()) {
      throw new ProductError('AGENT_JOB_FAILED', `jobs are not started: ${problem}`);
    }
    await rm(this.#stoppedPath, { force: true });
    for (const process of this.#processes) process.watch();
  }

  /** Goes on after a restart of the agent: starts every process unless `stop` was the last word. */
  async resume(): Promise<void> {
    if (!(await this.#isStopped())) for (const process of this.#processes) process.watch();
  }

  /** Stops every process and waits until they are gone; the decision is recorded first. */
  async stop(): Promise<void> {
    await writeDurableFile(this.#stoppedPath, '');
    await stopAll(this.#processes);
  }

  /** Ends watching every process and leaves it as it is, before drain scripts run. */
  async unmonitor(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.unwatch()));
  }

  async state(): Promise<JobState> {
    const isStopped = await this.#isStopped();
    if (this.#problems.size > 0 && !isStopped) return 'failing';
    return jobStateOf(
      this.#processes.map((process) => process.state),
      isStopped,
    );
  }

  processes(): Promise<readonly ProcessStatus[]> {
    return Promise.all(
      this.#processes.map(async (process) => ({
        name: process.definition.name,
        state: process.state,
        live: await process.find(),
      })),
    );
  }

  async #isStopped(): Promise<boolean> {
    return (await readFileIfPresent(this.#stoppedPath)) !== undefined;
  }
}

async function stopAll(processes: readonly SupervisedProcess[]): Promise<void> {
  const results = await Promise.allSettled(processes.map((process) => process.stop()));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
}
