import { stopJobs } from './stop-jobs.ts';

/**
 * Has PID 1 of a VM's container end, and with it the container.
 *
 * - systemd is told by SIGRTMIN+3 (signal 37), since TERM only re-executes it (systemd(1)); it is PID 1 where
 *   /run/systemd/system is a directory (sd_booted(3)). It would ask all jobs and their loggers at once, so
 *   the jobs are ended before.
 * - runsvdir ends on TERM at once, and every job with it. So they are ended first; what it starts again is
 *   taken out of its sight before (runsvdir(8)), in a root file system that the next container does not have.
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
