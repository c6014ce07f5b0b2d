import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  dependencyGroups,
  sortByDependencies,
  isBegunBy,
  type MonitService,
} from '../../bosh/monit/monit-service.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Directories } from '../directories.ts';
import { errorMessage } from '../file/error-code.ts';
import { readFileIfPresent, writeDurableFile } from '../file/files.ts';
import type { Log } from '../log.ts';
import { newLaunchMark, type Programs } from '../process/programs.ts';
import type { LiveProcess, ProcessTable } from '../process/process-table.ts';
import type { Identities } from '../user/identities.ts';
import { HealthFile } from './health-file.ts';
import { SupervisionStateFile } from './supervision-state.ts';
import { launchProgram } from './launch.ts';
import { ProgramOutput } from './program-output.ts';
import type { Probes } from './probes.ts';
import type { ServiceAlert, ServiceProblem } from './service-alert.ts';
import { DependencyGroup, type ServiceAction } from './dependency-group.ts';
import { SupervisedService, type ProcessState } from './supervised-service.ts';
import type { SupervisionPorts } from './supervision-ports.ts';

export interface JobSupervisorOptions {
  readonly directories: Directories;
  readonly programs: Programs;
  readonly table: ProcessTable;
  readonly probes: Probes;
  readonly identities: Identities;
  readonly clock: Clock;
  readonly log: Log;
  /** Reports a problem of a service to the health monitor. */
  readonly alert: (alert: ServiceAlert) => void;
}

/** A service in the form of get_state and the monit command. */
export interface ProcessStatus {
  readonly definition: MonitService;
  readonly name: string;
  readonly state: ProcessState;
  readonly problems: readonly ServiceProblem[];
  /** The action of the `monit` command that is not done yet. */
  readonly pending: ServiceAction | undefined;
  readonly live: LiveProcess | undefined;
  /**
   * Only for a service that is not up: the problem, the exit of its last start program, and the last lines of
   * its programs' output.
   */
  readonly diagnostics:
    | {
        readonly problem: string | undefined;
        readonly lastExit: string | undefined;
        readonly output: string;
      }
    | undefined;
}

/** The immediate result of an action of the monit command. */
export type ActionResult = 'accepted' | 'busy' | 'unknown' | 'shut down';

/** Why jobs do not start: an applied spec that cannot be restored, a missing disk, or the action shutdown. */
type Blocker = 'spec' | 'disk' | 'shutdown';

/**
 * Supervises the services of all jobs, as monit does on a stemcell. The file monit/stopped exists if the last
 * action was `stop`. Without it, a restart of the agent or of the VM starts every job again.
 */
export class JobSupervisor {
  readonly health: HealthFile;
  readonly #stoppedPath: string;
  readonly #stateFile: SupervisionStateFile;
  readonly #scriptMarks: SupervisionStateFile;
  readonly #output: ProgramOutput;
  readonly #ports: SupervisionPorts;
  /** The services in the order of the monit files. */
  #services: readonly SupervisedService[] = [];
  #groups: readonly DependencyGroup[] = [];
  readonly #blockers = new Map<Blocker, string>();

  constructor(options: JobSupervisorOptions) {
    const { directories, programs, identities, clock } = options;
    this.#stoppedPath = join(directories.monit, 'stopped');
    this.#stateFile = new SupervisionStateFile(directories, 'processes');
    this.#scriptMarks = new SupervisionStateFile(directories, 'scripts');
    this.health = new HealthFile({ ...options, state: () => this.state() });
    this.#output = new ProgramOutput(directories.monitLog, options.log);
    this.#ports = {
      table: options.table,
      probes: options.probes,
      clock,
      log: options.log,
      alert: options.alert,
      launch: (service, ...call) =>
        this.#output.with(service.name, (output) =>
          launchProgram({ programs, identities, now: () => clock.now(), output }, service, ...call),
        ),
      rotate: (name) => this.#output.rotate(name),
      newMark: newLaunchMark,
      scriptMark: (job) => this.#scriptMarks.get(job).mark,
      remember: (name, record) => this.#stateFile.set(name, record),
    };
  }

  /** Reads the records of an earlier run of the agent. */
  async prepare(): Promise<void> {
    await this.#stateFile.load();
    await this.#scriptMarks.load();
  }

  /**
   * Returns the launch mark for the scripts of a job. The services of the job may be processes that a script
   * started, so the mark stays the same: a start program may leave a process of an earlier script running.
   */
  async scriptMark(job: string): Promise<string> {
    const mark = this.#scriptMarks.get(job).mark ?? newLaunchMark();
    await this.#scriptMarks.set(job, { mark }).catch((error: unknown) => {
      // A full disk must not keep a script from running. Only a restarted agent would need the mark.
      this.#ports.log.error(
        `job '${job}': the mark of its scripts could not be recorded: ${errorMessage(error)}`,
      );
    });
    return mark;
  }

  /** Replaces the services and starts none. First stops the running services that are not in the new list. */
  async load(definitions: readonly MonitService[]): Promise<void> {
    await this.close();
    const kept = new Set(definitions.map((definition) => definition.name));
    await allSettledOrThrow(
      this.#groups.map((group) =>
        group.stop(group.services.filter(({ definition }) => !kept.has(definition.name))),
      ),
    );
    const services = definitions.map((definition) => {
      const record = this.#stateFile.get(definition.name);
      const others = (): readonly SupervisedService[] =>
        services.filter((other) => isBegunBy(definition, other.definition));
      return new SupervisedService(definition, this.#ports, record, others);
    });
    this.#services = services;
    const byDefinition = new Map(this.#services.map((service) => [service.definition, service]));
    this.#groups = dependencyGroups(sortByDependencies(definitions)).map(
      (group) =>
        new DependencyGroup(
          group.flatMap((one) => byDefinition.get(one) ?? []),
          this.#ports,
        ),
    );
  }

  /** Sets or clears a blocker. While one is set, jobs do not start and the state is `failing`. */
  setBlocker(what: Blocker, problem: string | undefined): void {
    if (problem === undefined) this.#blockers.delete(what);
    else this.#blockers.set(what, problem);
  }

  /**
   * Starts every service and monitors it. Returns before they are up; `state` shows the progress. Throws
   * AGENT_JOB_FAILED while a blocker is set.
   */
  async start(): Promise<void> {
    for (const problem of this.#blockers.values()) {
      throw new ProductError('AGENT_JOB_FAILED', `jobs are not started: ${problem}`);
    }
    await rm(this.#stoppedPath, { force: true });
    if (!this.#isShutDown) for (const group of this.#groups) group.start();
    await this.health.record();
  }

  /** After a restart of the agent: starts every service unless the last action was `stop`. */
  async resume(): Promise<void> {
    if (!(await this.#isStopped()) && !this.#isShutDown) for (const group of this.#groups) group.resume();
  }

  /** Stops every service and waits until all have ended. Records the decision first. */
  async stop(): Promise<void> {
    await writeDurableFile(this.#stoppedPath, '');
    try {
      await allSettledOrThrow(this.#groups.map((group) => group.stop()));
    } finally {
      await this.health.record();
    }
  }

  /** Stops monitoring every service, before drain scripts run. Does not change the services. */
  async unmonitor(): Promise<void> {
    await this.close();
    await this.health.record();
  }

  /** Stops monitoring as {@link unmonitor} does, but health.json stays, because the next agent continues. */
  async close(): Promise<void> {
    await Promise.all(this.#groups.map((group) => group.unmonitor()));
  }

  /**
   * Queues an action of the monit command. Returns before it is done. After the action shutdown nothing
   * starts or monitors a service, because the director has replaced the VM.
   */
  request(name: string, action: ServiceAction): ActionResult {
    const isBegin = action === 'start' || action === 'restart' || action === 'monitor';
    if (isBegin && this.#isShutDown) return 'shut down';
    for (const group of this.#groups) {
      const service = group.services.find(({ definition }) => definition.name === name);
      if (service !== undefined) return group.request(service, action) ? 'accepted' : 'busy';
    }
    return 'unknown';
  }

  /** Resets the counters of all rules. */
  reload(): void {
    for (const service of this.#services) {
      service.restarts.reset();
      service.resetRules();
    }
  }

  async state(): Promise<JobState> {
    const isStopped = await this.#isStopped();
    if (this.#blockers.size > 0 && !isStopped) return 'failing';
    return jobStateOf(
      this.#services.map((service) => service.state),
      isStopped,
    );
  }

  get numberOfProcesses(): number {
    return this.#services.length;
  }

  /** Returns every service, in the order of the monit files. */
  processes(): Promise<readonly ProcessStatus[]> {
    return Promise.all(
      this.#services.map(async (service) => ({
        definition: service.definition,
        name: service.definition.name,
        state: service.state,
        problems: service.problems,
        pending: this.#groups.find(({ services }) => services.includes(service))?.pending(service),
        live: await service.find(),
        diagnostics: await this.#readDiagnostics(service),
      })),
    );
  }

  async #readDiagnostics(service: SupervisedService): Promise<ProcessStatus['diagnostics']> {
    if (service.state !== 'starting' && service.state !== 'failing') return undefined;
    const { problem } = await service.check();
    return { problem, lastExit: service.lastExit, output: await this.#output.tail(service.definition.name) };
  }

  get #isShutDown(): boolean {
    return this.#blockers.has('shutdown');
  }

  async #isStopped(): Promise<boolean> {
    return (await readFileIfPresent(this.#stoppedPath)) !== undefined;
  }
}

/** Waits for all, then throws the first error. */
async function allSettledOrThrow(work: readonly Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(work)) if (result.status === 'rejected') throw result.reason;
}

/** The state of all jobs in get_state (bosh-agent: jobsupervisor/monit_job_supervisor.go, Status). */
export type JobState = 'running' | 'starting' | 'failing' | 'stopped' | 'unknown';

/**
 * Returns the state of the VM from the states of all services. Without services the VM is `running`, as with
 * monit.
 */
export function jobStateOf(states: readonly ProcessState[], isStopped: boolean): JobState {
  if (isStopped) return states.some((state) => state !== 'unmonitored') ? 'failing' : 'stopped';
  if (states.includes('starting')) return 'starting';
  return states.every((state) => state === 'running') ? 'running' : 'failing';
}
