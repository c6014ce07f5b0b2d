import { stopJobs } from './stop-jobs.ts';

/** Directories of /var/vcap that outlive a restart of the container, each a folder of the state volume. */
export const stateDirectories = ['bosh', 'monit', 'jobs', 'packages', 'instance'] as const;

/**
 * The init container of a VM: fills the state volume from the image unless that has been completed before,
 * and makes `disks` in the hub, without which no attachment pod can start, and `store` in the volumes that
 * the pod has itself. Root becomes the owner of hub and state volume before anything else runs in the VM. The
 * script removes what the entry recorded of the network of the previous sandbox (pod-network.ts). Its
 * arguments are the state directories.
 */
export const prepareScript = `set -eu
umask 022
missing=
for name in "$@"; do
  [ -e "/state/.$name.filled" ] && continue
  [ ! -e "/state/$name" ] || rm -rf "/state/$name"
  missing="$missing $name"
done
[ -z "$missing" ] || (cd /state/. && mkdir -p $missing)
for name in $missing; do
  if [ -d "/var/vcap/$name" ]; then cp -a "/var/vcap/$name/." "/state/$name/"; fi
  : > "/state/.$name.filled"
done
chown 0:0 /state/. && chmod 755 /state/.
rm -rf /state/bosh/pod-network
# a kubelet makes both volumes open to all; in a sandbox that is made again they have what the VM's root left
for folder in /warden-cpi-dev/. /warden-cpi-dev/disks; do
  [ ! -L "$folder" ] || rm "$folder"
  mkdir -p "$folder"
  chown 0:0 "$folder"
  chmod 755 "$folder"
done
for volume in /volumes/*; do
  [ -d "$volume" ] || continue
  [ ! -L "$volume/store" ] || { echo "'store' in the root of disk \${volume##*/} is a link, which another VM left: remove it with a pod that mounts the claim" >&2; exit 1; }
  mkdir -p "$volume/store"
done
`;

/**
 * Ends PID 1 of a VM's container, and with it the container.
 *
 * - systemd ends on SIGRTMIN+3 (signal 37), because TERM only re-executes it (systemd(1)); it is PID 1 if
 *   /run/systemd/system is a directory (sd_booted(3)). It would signal all jobs and their loggers at once, so
 *   the script ends the jobs before.
 * - runsvdir ends on TERM at once, and every job with it. So the script ends the jobs first, then moves the
 *   services away that runsvdir would start again (runsvdir(8)); this changes a root file system that the
 *   next container does not have.
 * - The entry itself ends its jobs.
 */
export const stopScript = `${stopJobs}if [ -d /run/systemd/system ]; then
  stop_jobs
  kill -37 1
elif [ "$(cat /proc/1/comm)" = runsvdir ]; then
  stop_jobs
  mv /etc/service /etc/service.stopped && mkdir /etc/service
  stop_others 2
  kill -TERM 1
else
  kill -TERM 1
fi
`;

/**
 * Runs before the VM's container is stopped and not started again: marks the hub, so that the attachment pods
 * unmount their disks by themselves, and stops PID 1. The marker is a directory: mkdir(2) follows no link and
 * waits for no reader, and anything that already has this name also marks the hub. A VM whose disks are
 * volumes of its pod may have no hub.
 */
export const preStopScript = `mkdir /warden-cpi-dev/.going 2> /dev/null
${stopScript}`;
