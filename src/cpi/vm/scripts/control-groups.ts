/**
 * Shell functions of the entry for a node with only cgroup v2. There a cgroup that contains processes can
 * give memory or I/O limits to none of its children, so containers with limits could not be started beside an
 * agent in the container's own cgroup.
 *
 * `own_cgroups` makes two children of that cgroup: `vm` for the processes of the VM, PID 1 first, and `jobs`,
 * which contains no processes and is what the VM then sees at /sys/fs/cgroup.
 *
 * - runc by itself and Garden make their cgroups at the root of that mount: in `jobs`.
 * - bpm makes them below its own cgroup, which it reads as /vm: in `jobs/vm`, an empty one of that name. That
 *   cannot be a mount, because runc enters none below /sys/fs/cgroup.
 * - containerd looks below /sys/fs/cgroup for the path of a container that /proc shows (/jobs/garden/...), and
 *   waits there for the event that it ran out of memory. So /sys/fs/cgroup/jobs shows the same as /sys/fs/cgroup.
 * - A runtime gives a privileged container the node's whole tree, in the node's cgroup namespace, and Garden
 *   would make its cgroups beside the node's. So the entry restarts itself in a new namespace, and calls this
 *   function first.
 * - A kubelet's exec joins the cgroup of PID 1 if the container's own cgroup cannot contain processes (runc:
 *   libcontainer/process_linux.go).
 * - If the container may not mount it, nothing changes (docs/cpi/vms.md, profiles).
 *
 * systemd arranges its own tree, and only needs to see that one (`mount_own_cgroups`).
 */
export const controlGroups = String.raw`has_unified_cgroups() { [ "$(stat -f -c %T /sys/fs/cgroup 2> /dev/null)" = cgroup2fs ]; }
mount_cgroups() { mount -t cgroup2 -o nosuid,nodev,noexec cgroup2 "$1" 2> /dev/null; }
# shows $1 at /sys/fs/cgroup, and at /sys/fs/cgroup/jobs
show_cgroups() {
  while umount /sys/fs/cgroup 2> /dev/null; do :; done
  mount --bind "$1" /sys/fs/cgroup && mount --bind "$1" /sys/fs/cgroup/jobs
}
fill_cgroups() {
  mkdir -p "$1/vm" "$1/jobs/vm" "$1/jobs/jobs" || return 1
  for round in 1 2 3; do
    while read -r pid; do echo "$pid" > "$1/vm/cgroup.procs"; done < "$1/cgroup.procs" 2> /dev/null
  done
  for controller in $(cat "$1/cgroup.controllers"); do
    echo "+$controller" > "$1/cgroup.subtree_control" || return 1
  done
}
own_cgroups() {
  has_unified_cgroups || return 0
  if [ "$(sed -n 's/^0:://p' /proc/self/cgroup)" != / ]; then
    unshare --cgroup true 2> /dev/null || return 0
    text=$(sed -zn 3p "/proc/$$/cmdline" | tr -d '\000')
    exec unshare --cgroup /bin/sh -c "$text" "$0" "$@"
  fi
  tree=/var/lib/bosh-kubernetes/cgroup
  mkdir -p "$tree" && mount_cgroups "$tree" || return 0
  fill_cgroups "$tree" && show_cgroups "$tree/jobs" || say "containers with limits cannot be started in this VM"
  umount "$tree"
}
mount_own_cgroups() {
  has_unified_cgroups || return 0
  while umount /sys/fs/cgroup 2> /dev/null; do :; done
  mount_cgroups /sys/fs/cgroup
}
`;
