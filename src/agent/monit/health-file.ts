import { join } from 'node:path';
import type { Clock } from '../../platform/clock.ts';
import { KeyedQueue } from '../../platform/keyed-queue.ts';
import type { Directories } from '../directories.ts';
import { errorMessage } from '../file/error-code.ts';
import { writeDurableFile } from '../file/files.ts';
import type { Log } from '../log.ts';

export interface HealthFileOptions {
  readonly directories: Directories;
  readonly clock: Clock;
  readonly log: Log;
  /** Returns the state of all jobs. */
  readonly state: () => Promise<string>;
}

const intervalMs = 1000;

/**
 * The file instance/health.json with the state of all jobs. The health server of bosh-dns reads it, and
 * takes a VM without it for a failing one (bosh-agent: jobsupervisor/wrapper_job_supervisor.go).
 */
export class HealthFile {
  readonly #options: HealthFileOptions;
  readonly #path: string;
  readonly #queue = new KeyedQueue();
  #written: string | undefined;
  #isFailing = false;

  constructor(options: HealthFileOptions) {
    this.#options = options;
    this.#path = join(options.directories.instance, 'health.json');
  }

  /** Records the state at an interval until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    for (;;) {
      // After a restart of the agent, running jobs are recognised first, so that they do not seem to fail.
      await clock.sleep(intervalMs, signal);
      if (signal.aborted) return;
      await this.record();
    }
  }

  /**
   * Writes the present state if it differs from what this process wrote last. Never rejects, because
   * jobs must start and stop also with a full disk. Logs the first failure after a success.
   */
  record(): Promise<void> {
    return this.#queue.run(this.#path, async () => {
      try {
        const content = JSON.stringify({ state: await this.#options.state() });
        if (content !== this.#written) await writeDurableFile(this.#path, content, 0o644);
        this.#written = content;
        this.#isFailing = false;
      } catch (error) {
        this.#written = undefined;
        if (!this.#isFailing)
          this.#options.log.error(`bosh-dns does not get the state of the jobs: ${errorMessage(error)}`);
        this.#isFailing = true;
      }
    });
  }
}
