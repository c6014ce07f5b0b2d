import { ProductError } from '../errors/product-error.ts';
import type { Clock } from './clock.ts';
import type { PersistentDisks } from './disk/persistent-disks.ts';
import type { Log } from './log.ts';
import type { JobSupervisor } from './monit/job-supervisor.ts';

export interface JobStartOptions {
  readonly disks: PersistentDisks;
  readonly supervisor: JobSupervisor;
  readonly clock: Clock;
  readonly log: Log;
}

const pollMilliseconds = 500;

/** Starts jobs, and only with the disk in place that was mounted last. */
export class JobStarter {
  readonly #options: JobStartOptions;

  constructor(options: JobStartOptions) {
    this.#options = options;
  }

  /** The action `start`. */
  async start(): Promise<void> {
    await this.assertDisksMounted();
    await this.#options.supervisor.start();
  }

  /** Throws AGENT_DISK_FAILED while the VM's disk is not where it was. */
  async assertDisksMounted(): Promise<void> {
    const problem = await this.#options.disks.restore();
    this.#options.supervisor.hold('disk', problem);
    if (problem !== undefined)
      throw new ProductError('AGENT_DISK_FAILED', `jobs are not started: ${problem}`);
  }

  /**
   * Goes on after a restart: waits for the disk, as long as it takes, then runs the jobs unless they were stopped.
   * Ends when `signal` aborts.
   */
  async startAfterRestart(signal: AbortSignal): Promise<void> {
    const { disks, supervisor, clock, log } = this.#options;
    let told: string | undefined;
    while (!signal.aborted) {
      const problem = await disks.restore();
      supervisor.hold('disk', problem);
      if (problem === undefined) return supervisor.resume();
      if (problem !== told) log.error(`jobs wait: ${problem}`);
      told = problem;
      await clock.sleep(pollMilliseconds, signal);
    }
  }
}
