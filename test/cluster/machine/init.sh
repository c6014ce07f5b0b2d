#!/bin/sh
# First process of a machine of the test cluster: it makes the mount, pid, network, uts and ipc namespaces that it was
# started in fit for use, says `ready`, and then only reaps. Its death is the death of everything in the machine.
#   $1 host name
set -eu
mount --make-rshared /
# sockets and pid files are the machine's own, and it has none of the host's
mount -t tmpfs -o mode=0755 run /run
hostname "$1"
ip link set lo up
echo 1 >/proc/sys/net/ipv4/ip_forward
echo ready
exec </dev/null >/dev/null 2>&1
# A shell that waits for one child reaps every other that comes to it.
while :; do
  sleep 86400 &
  wait "$!"
done
