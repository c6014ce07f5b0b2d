#!/bin/sh
# Waits in a new user namespace until its ids are mapped (a line on stdin), then becomes the cluster: only a program that
# is started by a mapped root has root's rights there.
# With a cgroup namespace of its own, a pod that shares this user namespace could mount the machine's cgroups, whose
# files belong to the same root: there are none.
set -eu
read -r _
exec /bin/sh -c 'echo 0 >/proc/sys/user/max_cgroup_namespaces && exec "$@"' enter "$@" </dev/null
