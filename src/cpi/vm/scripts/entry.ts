import { controlGroups } from './control-groups.ts';
import { podNetwork } from './pod-network.ts';
import { installShims } from './shims.ts';
import { systemdInit } from './stock-init.ts';
import { stopJobs } from './stop-jobs.ts';

/**
 * Shell function of the entry: makes root the owner of the folders of the data volume, with the modes of a
 * BOSH VM (bosh-agent: platform/linux_platform.go, SetupDataDir, SetupSharedMemory; agent/applier), before
 * any agent runs. A new volume is world-writable: a job user could replace `jobs` by programs that the agent
 * runs as root. No other process runs yet, so checking a path and then using it is safe here. The group is
 * vcap's if the container has it: an image without BOSH's users has no job user either, nor does a user
 * namespace that maps only root.
 */
export const secureDataFolders = `own_data() {
  data=/var/vcap/data
  group=$(awk -F: '$1 == "vcap" { print $3; exit }' /etc/group)
  awk -v id="\${group:-none}" '$1 <= id && id < $1 + $3 { found = 1 } END { exit !found }' /proc/self/gid_map || group=0
  while read -r mode group_id folder; do
    [ ! -L "$data/$folder" ] || rm "$data/$folder" || return 1
    mkdir -p "$data/$folder" && chown "0:$group_id" "$data/$folder" && chmod "$mode" "$data/$folder" || return 1
  done <<FOLDERS
755 0 .
755 0 tmp
750 $group jobs
755 $group packages
750 $group sys
750 $group sys/log
750 $group sys/run
FOLDERS
}
`;

/**
 * Shell function of the entry: makes the tokens of the pod's service account readable only for root and group
 * vcap. The kubelet writes them with mode 0644 (pod.ts ensures that) on a read-only volume, and an fsGroup
 * would chown the VM's other volumes too, so the function closes the folder above: it belongs to the
 * container, and `secrets` also contains the tokens that webhooks of clouds add. A CPI job runs as vcap.
 * Needs `group` of this file; `own_run` of stock-init.ts creates the folder again.
 */
export const hideServiceAccountToken = `close_token_folder() {
  [ -d /var/run/secrets ] || return 0
  chown "0:$group" /var/run/secrets/. && chmod 750 /var/run/secrets/.
}
cannot_close_token_folder() {
  say "/var/run/secrets cannot be closed to the VM's users, who would read the token of its service account"
  exit 1
}
`;

/**
 * Shell function of the entry: configures an upstream monit to keep its state on the state volume. The
 * default is ~/.monit.state, which a container loses: monit would then start the jobs that `bosh stop`
 * stopped, also in the middle of a disk's migration. The monitrc of a stock stemcell includes
 * /var/vcap/monit/*.monitrc (bosh-linux-stemcell-builder: stages/bosh_monit); the agent removes only
 * /var/vcap/monit/job (bosh-agent: jobsupervisor/monit_job_supervisor.go). A stemcell of this project
 * configures it in its own monitrc (src/stemcell/root/monitrc). A file that has the line already is not
 * written, so that a full volume does not keep the VM from starting.
 */
export const monitState = `keep_monit_state() {
  file=/var/vcap/monit/bosh-kubernetes.monitrc
  line='set statefile /var/vcap/monit/monit.state'
  if [ ! -L "$file" ] && [ -f "$file" ] && [ "$(cat "$file")" = "$line" ]; then return 0; fi
  mkdir -p /var/vcap/monit && rm -rf "$file.new" &&
    (umask 077 && set -C && echo "$line" > "$file.new") && mv -fT "$file.new" "$file"
}
`;

/**
 * Shell function of the entry: makes control groups and /sys writable if the profile in $1 allows it. A
 * runtime mounts control groups read-only if the container is not privileged. /sys of a privileged container
 * is read-only if another container of the pod was started first: the kernel has one sysfs for each network
 * namespace, with the options of its first mount.
 */
export const kernelFolders = `open_kernel_folders() {
  awk '{ for (i = 7; i < NF; i++) if ($i == "-") kind = $(i + 1)
    if (kind ~ /^cgroup2?$/ && $6 ~ /^ro(,|$)/) print $5 }' /proc/self/mountinfo |
    while read -r point; do mount -o remount,bind,rw "$point" 2>/dev/null; done
  if [ "$1" = privileged ] && [ ! -w /sys ]; then mount -o remount,rw /sys 2>/dev/null; fi
}
`;

/**
 * Shell function of the entry: adds the addresses and names of the last sync_dns to /etc/hosts. The kubelet
 * writes that file anew when the container restarts, and the agent does not read records.json again until a
 * director sends a later version. Only the key `records` has pairs of an address and a name.
 */
const restoreNames = `restore_names() {
  [ -s /var/vcap/instance/dns/records.json ] || return 0
  tr -d '[:space:]' < /var/vcap/instance/dns/records.json |
    sed -n '/"records":\\[\\[/{s/^.*"records":\\[\\[//;s/\\]\\].*$//;s/\\],\\[/\\n/g;s/"//g;s/,/ /g;p}' |
    grep -E '^[0-9A-Fa-f.:]+ [A-Za-z0-9_.-]+$' >> /etc/hosts
}
`;

/**
 * PID 1 of a VM: mounts the disk again that the agent had mounted, then runs the agent as its child and
 * restarts it when it dies. The shell reaps processes that the jobs orphan.
 *
 * - The folders of the data volume get root as their owner (this file); if that fails, the container ends.
 * - The token of a service account is readable for root and vcap only (this file); if that fails,
 *   the container ends.
 * - An upstream monit keeps its state on a volume that outlives the container (this file); if that
 *   fails, the container ends.
 * - What the jobs of the previous container made in the pod's network is removed (pod-network.ts). If the
 *   network cannot be recorded, or the packet filters cannot be restored, the container ends.
 * - A marker of the previous container would make the attachment pods unmount at once, and pid files of a
 *   previous pid namespace would look like live jobs: both are removed first.
 * - managed_disk_settings.json is the bare cid of the disk on /var/vcap/store (with its context, which no
 *   path has), persistent_disk_hints.json has the cids of all attached disks as keys (bosh-agent:
 *   platform/linux_platform.go, settings/service.go). No job may start on an empty store: if the disk does
 *   not appear, the container ends and the kubelet restarts it. A disk that was attached by a cid that
 *   update_disk has replaced is at the path of its replacement, which the hint contains.
 * - Control groups and /sys become writable, as far as the profile allows it (this file).
 * - The runtime mounts /etc/hosts, hostname and resolv.conf, and no file can be renamed over a mount:
 *   sync_dns and bosh-dns do that (bosh-agent: platform/linux_platform.go, SaveDNSRecords). If the VM may
 *   unmount, the script replaces the mounts by copies.
 * - A director sends its names again only when they have changed, so the names of the last sync_dns are added
 *   to the /etc/hosts that the kubelet has written for this container (this file).
 * - A stock jammy has resolvconf: its /etc/resolv.conf is a link to /run/resolvconf/resolv.conf, so the
 *   runtime mounts there, and the agent does not come up while `resolvconf -u` cannot rename over it.
 *   The copy replaces the link, because resolvconf starts from a file at that path when the agent runs
 *   it (platform/net/dnsresolver). A link to systemd's file stays, with its mount, which stock-init.ts
 *   removes if systemd is the init.
 * - A CPI job of a director has no environment, so the address of the API server is written to a file
 *   (src/kubernetes/access/server-access.ts).
 * - A stemcell of this project has services beside the agent, such as sshd (src/stemcell/root/services.sh).
 * - bpm and Garden make control groups of their own. Under sys-admin, which is enough for bpm only, the
 *   VM's own part of them can be made writable; under baseline it cannot, and /sys stays read-only. With
 *   only cgroup v2, the processes of the VM must leave the container's own cgroup (control-groups.ts)
 *   before any other process starts.
 * - The shims come first in the agent's PATH, in every profile (shims.ts explains why).
 * - The init of a stock stemcell replaces the entry before the agent would be started (stock-init.ts). The
 *   argument of the entry is the profile.
 * - On TERM the entry ends jobs, other processes and loggers, in this order (stop-jobs.ts). Then PID 1 ends,
 *   and with it every process that is left.
 */
export const entryScript = `set -u
hub=/warden-cpi-dev
bosh=/var/vcap/bosh
agent=
stopping=
say() { echo "entry: $*"; }
${controlGroups}${kernelFolders}${secureDataFolders}${hideServiceAccountToken}${monitState}${podNetwork}${systemdInit}${stopJobs}${restoreNames}stop() {
  trap '' TERM INT
  stopping=1
  [ -z "$agent" ] || kill -TERM "$agent" 2>/dev/null
  stop_jobs
  stop_others 1
  exit 0
}
trap stop TERM INT
find_stock_init "\${1:-}"
[ "$stock" = systemd ] || own_cgroups "$@"
rm -rf "$hub/.going"
own_data || { say "the folders of /var/vcap/data cannot be made root's, which jobs must not change"; exit 1; }
close_token_folder || cannot_close_token_folder
keep_monit_state || { say "/var/vcap/monit cannot be written, so monit would start the jobs that were stopped"; exit 1; }
keep_network || { say "the pod's network cannot be made what it was before jobs ran; recreate the VM"; exit 1; }
find /var/vcap/data/sys/run -xdev -name '*.pid' -type f -delete 2>/dev/null
open_kernel_folders "\${1:-}"
mounted=$(awk '$5 ~ /^\\/(etc|run\\/resolvconf)\\// { printf "%s ", $5 }' /proc/self/mountinfo)
for file in /etc/hosts /etc/hostname /etc/resolv.conf; do
  place=$file
  [ ! -L "$file" ] || place=$(readlink -f "$file")
  case " $mounted" in *" $place "*) ;; *) continue ;; esac
  cp "$file" "$file.own" 2>/dev/null && umount "$place" 2>/dev/null && mv "$file.own" "$file"
  rm -f "$file.own"
done
restore_names
if [ -n "\${KUBERNETES_SERVICE_HOST:-}" ]; then
  mkdir -p /etc/bosh-kubernetes 2>/dev/null &&
    printf '%s\\n' "$KUBERNETES_SERVICE_HOST" "\${KUBERNETES_SERVICE_PORT:-443}" > /etc/bosh-kubernetes/api-server
fi
${installShims}uptime_seconds() { cut -d . -f 1 /proc/uptime; }
# the folder of disk $1 in the hub, by its hint; $2 where the hint names none
place_of() {
  place=$(cid=$1 awk '
    { text = text $0 }
    END {
      key = "\\"" ENVIRON["cid"] "\\":{"
      found = index(text, key)
      if (!found) exit
      entry = substr(text, found + length(key))
      sub(/[}].*/, "", entry)
      if (match(entry, /"Path":"[^"]*"/)) print substr(entry, RSTART + 8, RLENGTH - 9)
    }' "$bosh/persistent_disk_hints.json")
  place=\${place#"$hub"/disks/}
  case $place in
    */store) place=\${place%/store} ;;
    *) place= ;;
  esac
  case $place in
    '' | *[!a-z0-9-]*) echo "$2" ;;
    *) echo "$place" ;;
  esac
}
bind_disk() {
  record=$bosh/managed_disk_settings.json
  [ -s "$record" ] || return 0
  cid=$(cat "$record")
  name=\${cid##*:}
  case $name in
    *[!a-z0-9-]*) say "managed_disk_settings.json does not hold a disk cid"; return 1 ;;
  esac
  if ! grep -qsF "\\"$cid\\"" "$bosh/persistent_disk_hints.json"; then
    say "disk $cid is not attached any more"
    rm -f "$record"
    return 0
  fi
  name=$(place_of "$cid" "$name")
  end=$(($(uptime_seconds) + 120))
  until [ -d "$hub/disks/$name/store" ]; do
    [ "$(uptime_seconds)" -lt "$end" ] || { say "disk $cid did not come to $hub/disks within 120 s"; return 1; }
    sleep 0.2 &
    wait "$!"
  done
  [ ! -L "$hub/disks/$name/store" ] || { say "'store' in the root of disk $cid is a link, which another VM left"; return 1; }
  mkdir -p /var/vcap/store
  mountpoint -q /var/vcap/store || "$shims/mount" "$hub/disks/$name/store" /var/vcap/store -o bind
}
bind_disk || exit 1
[ -z "$stock" ] || boot_stock_init
services=/usr/lib/bosh-kubernetes/services
[ ! -x "$services" ] || "$services" &
PATH=$shims:$bosh/bin:\${PATH:-/usr/sbin:/usr/bin:/sbin:/bin}
export PATH
while :; do
  "$bosh/bin/bosh-agent" -P ubuntu -C "$bosh/agent.json" &
  agent=$!
  wait "$agent"
  say "the agent ended with $?"
  sleep 1 &
  wait "$!"
done
`;
