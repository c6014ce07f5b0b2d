#!/bin/sh
# First process of a machine of the test cluster. It prepares the mount, pid, network, uts and ipc namespaces
# in which it was started, prints `ready`, and then only reaps. If it dies, everything in the machine dies.
#   $1 host name
set -eu
mount --make-rshared /
# The machine has its own sockets and pid files, and none of the host's.
mount -t tmpfs -o mode=0755 run /run
hostname "$1"
ip link set lo up
echo 1 >/proc/sys/net/ipv4/ip_forward
echo ready
exec </dev/null >/dev/null 2>&1
# A shell that waits for one child also reaps every other child.
while :; do
  sleep 86400 &
  wait "$!"
done
