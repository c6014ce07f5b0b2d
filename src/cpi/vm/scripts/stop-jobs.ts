/**
 * Shell functions that end a VM in order: `stop_jobs` ends its jobs within 15 s, then `stop_others "$n"` ends
 * within 9 s all other processes until n are left. The kubelet kills the container after 30 s.
 *
 * - First the agent and monit end, because they would restart a job that has ended. They leave the jobs as
 *   they are.
 * - Then TERM goes to the processes that monit files name by their pidfiles, but not yet to their loggers,
 *   which read from a pipe what the jobs write. A job that loses its logger is killed by its next line
 *   (SIGPIPE) before it has saved its state: Garden would lose its records of containers. The stop programs
 *   of monit are not used, because monit would record that the jobs must stay stopped.
 * - Loggers end by themselves with the last process that writes to them. Under a profile without
 *   CAP_SYS_PTRACE root does not see which of other users' processes read from a pipe, so these loggers get
 *   TERM together with the other processes.
 * - A pidfile may be a pipe that a job's user made, so reading it has a deadline. A wrong pidfile changes
 *   only the order.
 */
export const stopJobs = String.raw`job_pids() {
  cat /var/vcap/monit/job/*.monitrc /var/vcap/jobs/*/monit /var/vcap/jobs/*/*.monit 2> /dev/null |
    sed -n 's/^.*[[:space:]]pidfile[[:space:]]*"\{0,1\}\([^"[:space:]]*\).*$/\1/p' | sort -u |
    while read -r file; do
      pid=$(timeout 1 head -c 20 "$file" 2> /dev/null | head -n 1)
      case $pid in '' | *[!0-9]* | 0* | 1) continue ;; esac
      [ ! -d "/proc/$pid" ] || echo "$pid"
    done
}
stop_supervisors() {
  if [ -d /run/systemd/system ]; then
    timeout 5 systemctl stop bosh-agent monit
  elif [ "$(cat /proc/1/comm)" = runsvdir ]; then
    sv -w 5 force-stop /etc/service/agent /etc/service/monit
  else
    read -r pid < /var/lib/bosh-kubernetes/supervise-monit.pid && kill -KILL "$pid"
    for name in /proc/[0-9]*/comm; do
      read -r name_of < "$name" || continue
      case $name_of in bosh-agent | monit) pid=${'$'}{name%/comm} && kill -TERM "${'$'}{pid#/proc/}" ;; esac
    done
  fi > /dev/null 2>&1
}
stop_jobs() {
  stop_supervisors
  pids=$(job_pids)
  [ -z "$pids" ] || kill -TERM $pids 2> /dev/null
  left=75
  while [ -n "$pids" ] && [ "$left" -gt 0 ]; do
    sleep 0.2 &
    wait "$!"
    left=$((left - 1))
    living=
    for pid in $pids; do [ ! -d "/proc/$pid" ] || living="$living $pid"; done
    pids=$living
  done
}
await_end() {
  left=$2
  while set -- "$1" /proc/[0-9]*; [ "$#" -gt $(($1 + 1)) ] && [ "$left" -gt 0 ]; do
    left=$((left - 1))
    sleep 0.2 &
    wait "$!"
  done
}
stop_others() {
  loggers=" $(ls -l /proc/[0-9]*/fd/0 2> /dev/null | sed -n 's#^.* /proc/\([0-9]*\)/fd/0 -> pipe:.*#\1#p' | tr '\n' ' ')"
  pids=
  for pid in /proc/[0-9]*; do
    pid=${'$'}{pid#/proc/}
    case "$loggers 1 $$ " in *" $pid "*) ;; *) pids="$pids $pid" ;; esac
  done
  [ -z "$pids" ] || kill -TERM $pids 2> /dev/null
  await_end "$1" 25
  kill -TERM -1 2> /dev/null
  await_end "$1" 20
}
`;
