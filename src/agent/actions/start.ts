import type { JobStarter } from '../job-start.ts';
import type { Action } from './action.ts';

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
