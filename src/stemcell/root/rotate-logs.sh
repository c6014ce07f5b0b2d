#!/bin/sh
# cron runs this as root every hour: logrotate with the configuration of the system, then with that of the
# agent in each folder of the jobs' logs. Job users can replace any part of such a path by a link. The script
# therefore enters each folder, checks that no link led there, and runs logrotate in it. Through
# /proc/self/cwd logrotate reaches this folder and no other, whatever its path becomes. logrotate itself opens
# no link and no file with a second hard link. Only the options of the agent's first paths are used, because
# an upstream agent's own paths have none of this protection.
set -u
logs=/var/vcap/data/sys/log
agent=/etc/logrotate.d/vcap
here=/run/rotate-logs.conf
exec 9> /run/rotate-logs.lock
flock --nonblock 9 || exit 0
# The deadline is for a file that never ends or does not answer.
rotate() { timeout 600 /usr/sbin/logrotate "$@"; }
rotate_jobs() {
  { echo 'su root root' && echo '/proc/self/cwd/*.log /proc/self/cwd/.*.log {' && sed '0,/{/d; /}/q' "$agent"; } > "$here" || return
  for folder in "$logs/" "$logs"/*/ "$logs"/*/*/; do
    (cd -P "$folder" 2> /dev/null && [ "$(/bin/pwd -P)" = "${folder%/}" ] && rotate --state /dev/null "$here")
  done
}
{
  rotate /etc/logrotate.conf
  [ ! -f "$agent" ] || rotate_jobs
} 2>&1 | logger --tag logrotate
