import type { JobStarter } from '../job-start.ts';
import type { Action } from './action.ts';

/** `start []` -> `"started"`: the jobs are being started, get_state tells how it goes. */
export function start(jobStart: JobStarter): Action {
  return {
    mode: 'synchronous',
    async run() {
      await jobStart.start();
      return 'started';
    },
  };
}
