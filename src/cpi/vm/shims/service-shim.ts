/**
 * `sv` and `systemctl` for an upstream agent, which starts, kills and stops monit by them (bosh-agent:
 * servicemanager/*.go). Below the entry there is no service manager: a loop runs monit as the stemcell's own
 * unit does (bosh-linux-stemcell-builder: stages/bosh_monit/assets/monit.service), and again whenever it
 * ends.
 */
export const serviceShim = `#!/bin/sh
PATH=/var/vcap/bosh/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
set -u
state=/var/lib/bosh-kubernetes
[ ! -d /run/systemd/system ] || exec "\${0##*/}" "$@"
[ "$#" -eq 2 ] && [ "$2" = monit ] || { echo "\${0##*/}: there is no service manager for: $*" >&2; exit 1; }
pid_of() {
  pid=$(cat "$state/$1.pid" 2> /dev/null) || return 1
  case $(tr '\\0' ' ' < "/proc/$pid/cmdline" 2> /dev/null) in *monit*) echo "$pid" ;; *) return 1 ;; esac
}
case $1 in
  start)
    ! pid_of supervise-monit > /dev/null || exit 0
    setsid sh -c '
      while :; do
        monit -I -c /var/vcap/bosh/etc/monitrc &
        echo "$!" > "$1/monit.pid"
        wait "$!"
        sleep 1
      done' supervise-monit "$state" < /dev/null > /dev/null 2>&1 &
    echo "$!" > "$state/supervise-monit.pid"
    ;;
  kill) pid=$(pid_of monit) || exit 1; kill -TERM "$pid" ;;
  stop)
    for name in supervise-monit monit; do
      pid=$(pid_of "$name") || continue
      kill -KILL "$pid"
    done
    ;;
  *) echo "\${0##*/}: $1 is not known here" >&2; exit 1 ;;
esac
`;
