#!/bin/sh
# PID 1 if the container gets no other command. On Kubernetes the CPI gives one (src/cpi/vm/scripts/entry.ts),
# which also mounts disks again and ends jobs before their loggers. This script is for any other runtime, to
# inspect the image. It runs the services and the agent, and reaps.
set -u
stop() {
  trap '' TERM INT
  kill -TERM -1 2> /dev/null
  left=100
  while set -- /proc/[0-9]*; [ "$#" -gt 1 ] && [ "$left" -gt 0 ]; do
    left=$((left - 1))
    sleep 0.2 &
    wait "$!"
  done
  exit 0
}
trap stop TERM INT
find /var/vcap/data/sys/run -xdev -name '*.pid' -type f -delete 2> /dev/null
/usr/lib/bosh-kubernetes/services &
PATH=/var/vcap/bosh/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
while :; do
  /var/vcap/bosh/bin/bosh-agent -P ubuntu -C /var/vcap/bosh/agent.json &
  wait "$!"
  echo "init: the agent ended with $?"
  sleep 1 &
  wait "$!"
done
