import type { Log } from '../log.ts';
import type { JobSupervisor } from '../monit/job-supervisor.ts';
import { drainJobs } from '../script/drain-jobs.ts';
import { drainParameters } from '../script/drain-parameters.ts';
import type { ScriptPorts } from '../script/job-script.ts';
import { parseApplySpec } from '../spec/apply-spec.ts';
import type { SpecFile } from '../spec/spec-file.ts';
import type { Action } from './action.ts';
import { objectArgument, stringArg } from './arguments.ts';

export interface DrainOptions extends ScriptPorts {
  readonly supervisor: JobSupervisor;
  readonly specFile: SpecFile;
  readonly log: Log;
}

/**
 * `drain ["shutdown"|"update", new spec?]` -> 0 when the drain script of every job has run and its wait is
 * over.
 */
export function drain(options: DrainOptions): Action {
  return {
    mode: 'asynchronous',
    cancellable: true,
    async run(list, signal) {
      const type = stringArg(list, 0, 'drain type');
      const next = list[1] === undefined ? undefined : parseApplySpec(objectArgument(list, 1, 'new spec'));
      const current = await options.specFile.read();
      const parameters = drainParameters(type, current, next);
      await options.supervisor.unmonitor();
      const jobs = current.jobs.map((job) => job.name);
      await drainJobs(options, jobs, parameters, signal);
      return 0;
    },
  };
}
