#!/bin/sh
# PID 1 of a guest with cgroup v2 only: starts a VM's container in each of the ways of SUITE_FOLDER/ways: in
# the node's cgroup namespace, as runtimes start privileged containers, or in its own. SUITE_FOLDER contains
# the container's files (control-groups.test.ts).
set -eu
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
for folder in /run /mnt; do mount -t tmpfs -o mode=755 tmpfs "$folder"; done
mount -t cgroup2 -o nsdelegate cgroup2 /sys/fs/cgroup
allow() { for name in $(cat "$1/cgroup.controllers"); do echo "+$name" > "$1/cgroup.subtree_control"; done; }
allow /sys/fs/cgroup
mkdir -p /sys/fs/cgroup/kubepods/pod
allow /sys/fs/cgroup/kubepods
allow /sys/fs/cgroup/kubepods/pod
cp -a "$SUITE_FOLDER" /mnt/suite
while read -r way; do
  echo "suite: unshare $way"
  mkdir /sys/fs/cgroup/kubepods/pod/vm
  # shellcheck disable=SC2016,SC2086 # a shell inside, and words
  unshare --mount --pid --fork sh -c 'echo 0 > /sys/fs/cgroup/kubepods/pod/vm/cgroup.procs; exec "$@"' sh \
    unshare $way --propagation private sh "$SUITE_CONTAINER" /mnt/suite /bin/true < /dev/null 2>&1 | sed 's/^/suite: /'
  find /sys/fs/cgroup/kubepods/pod/vm -depth -type d -exec rmdir {} \;
done < "$SUITE_FOLDER/ways"
echo "suite: the node has $(cd /sys/fs/cgroup && echo */)"
echo o > /proc/sysrq-trigger
sleep 60
