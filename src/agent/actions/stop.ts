import type { JobSupervisor } from '../monit/job-supervisor.ts';
import type { Action } from './action.ts';

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
