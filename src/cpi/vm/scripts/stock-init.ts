import { controlGroups } from './control-groups.ts';
import { shellQuote } from './shims.ts';

/**
 * Units with which systemd, as PID 1 of a privileged container, would change the node: its kernel, clock,
 * network and consoles, and what it mounts of them. They are units of Ubuntu's and Debian's packages.
 */
const maskedUnits = [
  ...['systemd-sysctl.service', 'systemd-modules-load.service', 'kmod-static-nodes.service'],
  ...['systemd-binfmt.service', 'proc-sys-fs-binfmt_misc.automount', 'proc-sys-fs-binfmt_misc.mount'],
  ...['systemd-udevd.service', 'systemd-udevd-control.socket', 'systemd-udevd-kernel.socket'],
  ...['systemd-udev-trigger.service', 'systemd-udev-settle.service', 'systemd-remount-fs.service'],
  ...['systemd-networkd.service', 'systemd-networkd.socket', 'systemd-networkd-wait-online.service'],
  ...['networking.service', 'NetworkManager.service', 'ufw.service', 'apparmor.service'],
  ...['systemd-timesyncd.service', 'chrony.service', 'ntp.service', 'ntpsec.service'],
  ...[
    'auditd.service',
    'systemd-journald-audit.socket',
    'systemd-pstore.service',
    'systemd-random-seed.service',
  ],
  ...['getty@.service', 'serial-getty@.service', 'container-getty@.service', 'autovt@.service'],
  ...['console-getty.service', 'fstrim.timer', 'e2scrub_all.timer', 'e2scrub_reap.service'],
  ...['lvm2-monitor.service', 'lvm2-lvmpolld.socket', 'multipathd.service', 'multipathd.socket'],
];

/** Runs in the control group namespace of the VM. */
const bootSystemd = `${controlGroups}mount_own_cgroups || { echo "entry: /sys/fs/cgroup cannot be mounted"; exit 1; }
exec /sbin/init`;

/**
 * Shell functions of the entry: `find_stock_init` sets `stock` to the init of a stock stemcell,
 * `boot_stock_init` replaces the entry by it. The init is recognized by what runs the agent there: a unit
 * (noble), a service of runit (jammy).
 *
 * - Only a privileged container can do this: systemd needs control groups and mounts of its own, and the
 *   right to set `nice` below zero. The embedded node shows the machine's own folders read-only: their
 *   content is not the VM's.
 * - Both inits set the agent's PATH themselves, with /var/vcap/bosh/bin first, so the shims that matter are
 *   linked there.
 * - systemd: its control groups begin at the container's; with only cgroup v2 also what is mounted, which
 *   otherwise shows the node's. /run is its tmpfs (with what the kubelet mounted there). With `container`
 *   set, systemd leaves to the node what is the node's (systemd.exec(5), "The container interface"). It
 *   unmounts nothing when it ends, because jobs may write to their disks after its units have ended (their
 *   KillMode is `process`).
 * - systemd-resolved is the resolver if the image enables it (noble). bosh-dns adds its server there,
 *   and does not start before the VM's resolver answers by it (bosh-dns-release: jobs/bosh-dns,
 *   pre-start and wait). It learns the pod's name servers here, because networkd, which is masked, would
 *   otherwise tell them. They are for all names (`~.`), except those for which bosh-dns registers:
 *   otherwise resolved asks no server for names below `local` that no search domain covers, and
 *   bosh-dns, too, for all other names.
 * - runsvdir-start is also what bosh-docker-cpi runs (vm/factory.go); it clears the environment.
 */
export const systemdInit = `find_stock_init() {
  stock=
  [ "$1" = privileged ] || return 0
  for folder in /etc/systemd/system /usr/lib/systemd/system /lib/systemd/system; do
    [ -e "$folder/bosh-agent.service" ] || continue
    case $(readlink -f /sbin/init) in */systemd) [ ! -w /etc/systemd/system ] || stock=systemd ;; esac
    return 0
  done
  if [ -x /usr/sbin/runsvdir-start ] && [ -e /etc/service/agent/run ] && [ -w /etc/service ]; then stock=runit; fi
}
own_run() {
  before=/var/lib/bosh-kubernetes/run
  mkdir -p "$before"
  mount --rbind /run "$before" && mount -t tmpfs -o mode=755,nosuid,nodev tmpfs /run || return 1
  awk -v before="$before/" 'index($5, before) == 1 { print substr($5, length(before) + 1) }' /proc/self/mountinfo |
    while read -r point; do
      if [ -d "$before/$point" ]; then
        mkdir -p "/run/$point"
      else
        mkdir -p "$(dirname "/run/$point")"
        : > "/run/$point"
      fi
      mount --rbind "$before/$point" "/run/$point" || exit 1
    done || return 1
  umount --recursive "$before"
}
use_resolved() {
  systemctl --root=/ is-enabled --quiet systemd-resolved.service 2> /dev/null || return 0
  place=$(readlink -f /etc/resolv.conf)
  mkdir -p /etc/systemd/resolved.conf.d && awk '
    $1 == "nameserver" { servers = servers " " $2 }
    $1 == "search" { $1 = ""; domains = $0 }
    END { printf "[Resolve]\\nDNS=%s\\nDomains=~.%s\\n", servers, domains }
  ' "$place" > /etc/systemd/resolved.conf.d/bosh-kubernetes.conf || return 1
  ! mountpoint -q "$place" || umount "$place" || return 1
  ln -sfT /run/systemd/resolve/stub-resolv.conf /etc/resolv.conf
}
boot_stock_init() {
  for name in mount umount; do ln -sf "$shims/$name" "$bosh/bin/$name"; done
  say "the stemcell's own $stock runs the agent"
  trap - TERM INT
  [ "$stock" = systemd ] || exec env -i /usr/sbin/runsvdir-start
  use_resolved || { say "/etc/resolv.conf cannot become a link to that of systemd-resolved"; exit 1; }
  own_run || { say "/run cannot be made a tmpfs"; exit 1; }
  close_token_folder || cannot_close_token_folder
  for unit in ${maskedUnits.join(' ')}; do ln -sf /dev/null "/etc/systemd/system/$unit"; done
  mkdir -p /etc/systemd/system/mount.d
  printf '[Unit]\\nDefaultDependencies=no\\n' > /etc/systemd/system/mount.d/bosh-kubernetes.conf
  container=kubernetes exec unshare --cgroup /bin/sh -c ${shellQuote(bootSystemd)}
}
`;
