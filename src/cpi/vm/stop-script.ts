/**
 * Has PID 1 of a VM's container end, and with it the container.
 *
 * - systemd is told by SIGRTMIN+3 (signal 37), since TERM only re-executes it (systemd(1)); it is PID 1 where
 *   /run/systemd/system is a directory (sd_booted(3)).
 * - runsvdir ends on TERM at once, and every job with it. So they are asked first; what it starts again is taken out of its
 *   sight before (runsvdir(8)), in a root file system that the next container does not have.
 * - The entry itself asks its jobs.
 */
export const stopScript = `if [ -d /run/systemd/system ]; then
  kill -37 1
elif [ "$(cat /proc/1/comm)" = runsvdir ]; then
  mv /etc/service /etc/service.stopped && mkdir /etc/service
  kill -TERM -1
  left=100
  while set -- /proc/[0-9]*; [ "$#" -gt 2 ] && [ "$left" -gt 0 ]; do
    left=$((left - 1))
    sleep 0.2
  done
  kill -TERM 1
else
  kill -TERM 1
fi
`;
