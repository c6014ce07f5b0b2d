import type { JobStarter } from '../job-starter.ts';
import { type Action, argument } from './action.ts';
import type { JobSupervisor } from '../monit/job-supervisor.ts';
import type { Log } from '../log.ts';
import { drainJobs, drainParameters } from '../script/drain.ts';
import type { ScriptPorts } from '../script/job-script.ts';
import { parseApplySpec, type SpecFile } from '../apply/spec.ts';

/** `start []` -> `"started"`: begins to start the jobs. get_state shows the progress. */
export function start(jobStart: JobStarter): Action {
  return {
    mode: 'synchronous',
    async run() {
      await jobStart.start();
      return 'started';
    },
  };
}

/** `stop []` -> `"stopped"` when every process has ended. The jobs stay stopped after a restart of the VM. */
export function stop(supervisor: JobSupervisor): Action {
  return {
    mode: 'asynchronous',
    async run() {
      await supervisor.stop();
      return 'stopped';
    },
  };
}

/**
 * `shutdown []` -> `""`: the jobs end, and the agent does not answer any more, also after restarts. The
 * director sends it to a VM that it has replaced, and does not wait for an answer.
 */
export function shutdown({ shutDown }: { readonly shutDown: () => Promise<void> }): Action {
  return {
    mode: 'synchronous',
    async run() {
      await shutDown();
      return '';
    },
  };
}

export interface DrainOptions extends ScriptPorts {
  readonly supervisor: JobSupervisor;
  readonly specFile: SpecFile;
  readonly log: Log;
  /** Publishes an event for the health monitor. */
  readonly publish: (event: 'shutdown', body: null) => void;
}

/**
 * `drain ["shutdown"|"update", new spec?]` -> 0 when the drain script of every job has run and its wait is
 * over.
 */
export function drain(options: DrainOptions): Action {
  return {
    mode: 'asynchronous',
    cancellable: true,
    async run(args, signal) {
      const type = argument(args, 0, 'drain type').nonEmptyString();
      const next = argument(args, 1, 'new spec').optional()?.record();
      const current = await options.specFile.read();
      const parameters = drainParameters(type, current, next && parseApplySpec(next));
      await options.supervisor.unmonitor();
      // The health monitor forgets the VM, so that it does not create it again (bosh-agent: drain.go).
      if (type === 'shutdown') options.publish('shutdown', null);
      const jobs = current.jobs.map((job) => job.name);
      await drainJobs(options, jobs, parameters, signal);
      return 0;
    },
  };
}
