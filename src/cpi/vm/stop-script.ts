import { stopJobs } from './stop-jobs.ts';

/**
 * Ends PID 1 of a VM's container, and with it the container.
 *
 * - systemd ends on SIGRTMIN+3 (signal 37), because TERM only re-executes it (systemd(1)); it is PID 1 if
 *   /run/systemd/system is a directory (sd_booted(3)). It would signal all jobs and their loggers at once, so
 *   the script ends the jobs before.
 * - runsvdir ends on TERM at once, and every job with it. So the script ends the jobs first, then moves the
 *   services away that runsvdir would start again (runsvdir(8)); this changes a root file system that the
 *   next container does not have.
 * - The entry itself ends its jobs.
 */
export const stopScript = `${stopJobs}if [ -d /run/systemd/system ]; then
  stop_jobs
  kill -37 1
elif [ "$(cat /proc/1/comm)" = runsvdir ]; then
  stop_jobs
  mv /etc/service /etc/service.stopped && mkdir /etc/service
  stop_others 2
  kill -TERM 1
else
  kill -TERM 1
fi
`;
