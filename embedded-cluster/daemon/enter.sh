#!/bin/sh
# Waits in a new user namespace until its ids are mapped (a line on stdin), then becomes the cluster. Only a
# program that a mapped root starts has root's rights there. With its own cgroup namespace, a pod that shares
# this user namespace could mount the machine's cgroups, whose files belong to the same root. So no cgroup
# namespaces are allowed.
set -eu
read -r _
exec /bin/sh -c 'echo 0 >/proc/sys/user/max_cgroup_namespaces && exec "$@"' enter "$@" </dev/null
