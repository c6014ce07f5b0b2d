import { ProductError } from '../errors/product-error.ts';
import type { Clock } from '../platform/clock.ts';
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

/** Starts jobs, but only if the disk that was mounted last is mounted again. */
export class JobStarter {
  readonly #options: JobStartOptions;

  constructor(options: JobStartOptions) {
    this.#options = options;
  }

  /** Does the work of the action `start`. */
  async start(): Promise<void> {
    await this.assertDisksMounted();
    await this.#options.supervisor.start();
  }

  /** Throws AGENT_DISK_FAILED while the VM's disk is not mounted where it was. */
  async assertDisksMounted(): Promise<void> {
    const problem = await this.#options.disks.restore();
    this.#options.supervisor.setBlocker('disk', problem);
    if (problem !== undefined)
      throw new ProductError('AGENT_DISK_FAILED', `jobs are not started: ${problem}`);
  }

  /**
   * After a restart: waits for the disk without a timeout, then starts the jobs unless `stop` was called.
   * Returns when `signal` aborts.
   */
  async startAfterRestart(signal: AbortSignal): Promise<void> {
    const { disks, supervisor, clock, log } = this.#options;
    let lastReported: string | undefined;
    while (!signal.aborted) {
      const problem = await disks.restore();
      supervisor.setBlocker('disk', problem);
      if (problem === undefined) return supervisor.resume();
      if (problem !== lastReported) log.error(`jobs wait: ${problem}`);
      lastReported = problem;
      await clock.sleep(pollMilliseconds, signal);
    }
  }
}
