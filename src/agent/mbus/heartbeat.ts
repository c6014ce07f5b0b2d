import { isObject } from '../../platform/json.ts';
import type { Clock } from '../../platform/clock.ts';
import type { SpecFile } from '../apply/spec.ts';
import { errorMessage } from '../file/error-code.ts';
import type { Log } from '../log.ts';
import type { JobSupervisor } from '../monit/job-supervisor.ts';

export interface HeartbeatOptions {
  readonly publish: (heartbeat: unknown) => void;
  readonly specFile: SpecFile;
  readonly supervisor: JobSupervisor;
  readonly vitals: () => Promise<Record<string, unknown>>;
  readonly clock: Clock;
  readonly log: Log;
}

const intervalMs = 30_000;

/**
 * The message by which the health monitor knows that the VM lives: it counts an agent as dead after a minute
 * without one (bosh-agent: agent/agent.go, sendHeartbeats).
 */
export class Heartbeat {
  readonly #options: HeartbeatOptions;
  readonly #end = new AbortController();
  /** Why the last heartbeat was not sent. */
  #problem: string | undefined;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  /** Sends heartbeats at an interval until `stop`. Never rejects. */
  async run(): Promise<void> {
    const { clock } = this.#options;
    while (!this.#end.signal.aborted) {
      await this.send();
      await clock.sleep(intervalMs, this.#end.signal);
    }
  }

  stop(): void {
    this.#end.abort();
  }

  /** Sends one heartbeat. The next one follows after a failure, which is logged if it is another one. */
  async send(): Promise<void> {
    const { publish, log } = this.#options;
    try {
      const heartbeat = await this.#read();
      if (!this.#end.signal.aborted) publish(heartbeat);
      this.#problem = undefined;
    } catch (error) {
      const problem = `no heartbeat is sent, so that the health monitor counts the VM as dead: ${errorMessage(error)}`;
      if (problem !== this.#problem) log.error(`mbus: ${problem}`);
      this.#problem = problem;
    }
  }

  async #read(): Promise<Record<string, unknown>> {
    const { specFile, supervisor, vitals } = this.#options;
    const { source } = await specFile.read();
    const job = source['job'];
    return {
      deployment: source['deployment'] ?? '',
      job: isObject(job) ? (job['name'] ?? null) : null,
      index: source['index'] ?? null,
      job_state: await supervisor.state(),
      vitals: await vitals(),
      node_id: source['id'] ?? '',
      number_of_processes: supervisor.numberOfProcesses,
    };
  }
}
