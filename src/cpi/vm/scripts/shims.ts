/**
 * `hostname` for an upstream agent, which sets the name that the pod already has: this needs no capability.
 */
export const hostnameShim = `#!/bin/sh
PATH=/usr/sbin:/usr/bin:/sbin:/bin
[ "$#" -eq 1 ] && [ "$1" = "$(hostname)" ] && exit 0
exec hostname "$@"
`;

/**
 * `mount` for an upstream agent. The agent compares a disk's hint with the source that bare mount(8) prints,
 * and for a folder that was bound this is the device (bosh-agent: platform/disk/cmd_mounts_searcher.go,
 * linux_bind_mounter.go):
 *
 * - without arguments it prints the hint as source of /var/vcap/store and store_migration_target,
 * - \`mount <hint> <one of them> [-o ...]\` binds the folder, or links to it if the container may not mount,
 * - if the container may not mount, or may not change a mount, the mounts of the agent's start are recorded
 *   instead and printed again.
 *
 * Anything else is mount(8) itself.
 */
export const mountShim = `#!/bin/sh
. /var/lib/bosh-kubernetes/shims/functions
list() {
  mount | awk -v store="$store" -v target="$target" -v has_store="$1" -v has_target="$2" '
    !($3 == store && has_store != "") && !($3 == target && has_target != "")'
  [ -z "$1" ] || echo "$1 on $store type none (rw,bind)"
  [ -z "$2" ] || echo "$2 on $target type none (rw,bind)"
  cat "$state/noted" 2> /dev/null
  exit 0
}
[ "$#" -gt 0 ] || list "$(shown "$store")" "$(shown "$target")"

source=
point=
options=
type=
count=0
plain=1
expect=
for word in "$@"; do
  case $expect$word in
    o:*) options="$options,$word"; expect= ;;
    t:*) type=$word; expect= ;;
    -o) expect=o: ;;
    -t) expect=t: ;;
    --bind | -B) options="$options,bind" ;;
    --) ;;
    -*) plain= ;;
    *)
      count=$((count + 1))
      if [ "$count" -eq 1 ]; then source=$word; else point=$word; fi
      ;;
  esac
done
[ -n "$plain" ] && [ "$count" -eq 2 ] || exec mount "$@"

if is_hint "$source" && { [ "$point" = "$store" ] || [ "$point" = "$target" ]; }; then
  [ -d "$source" ] || fail "$source is not there: the disk is not attached"
  [ ! -L "$source" ] || fail "$source is a link, which another VM left on the disk"
  if may_mount; then
    # the folder itself: a VM that had the disk before may still write to it, and put a link in its place
    cd -P "$source" && [ "$(readlink /proc/self/cwd)" = "$source" ] || fail "$source is not the folder that it was"
    exec mount --no-canonicalize -o "bind$options" -- . "$point"
  fi
  for option in $(echo "$options" | tr , ' '); do
    case $option in
      bind | rw | defaults) ;;
      *) fail "option $option needs CAP_SYS_ADMIN, which the VM's profile does not give" ;;
    esac
  done
  now=$(shown "$point")
  [ -z "$now" ] || fail "$point holds $now already"
  link "$source" "$point"
  exit 0
fi

# on top of a mount that the pod did not make, flags are the node's to set
if may_mount; then
  mount "$@" && exit 0
  case ",$options," in *,remount,*) [ -z "$source" ] || exit 32 ;; *) exit 32 ;; esac
fi
case $point in
  /dev/shm | /home | /opt | /tmp | /var/log | /var/opt | /var/tmp | /var/vcap/data/sys/run | /var/vcap/bosh/canrestart)
    [ -n "$source" ] && echo "$source on $point type \${type:-none} (noted)" >> "$state/noted"
    exit 0
    ;;
esac
exec mount "$@"
`;

/**
 * `sv` and `systemctl` for an upstream agent, which starts, kills and stops monit by them (bosh-agent:
 * servicemanager/*.go). Below the entry there is no service manager: a loop runs monit as the stemcell's own
 * unit does (bosh-linux-stemcell-builder: stages/bosh_monit/assets/monit.service), and again whenever it
 * ends.
 */
export const serviceShim = `#!/bin/sh
PATH=/var/vcap/bosh/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
set -u
state=/var/lib/bosh-kubernetes
[ ! -d /run/systemd/system ] || exec "\${0##*/}" "$@"
[ "$#" -eq 2 ] && [ "$2" = monit ] || { echo "\${0##*/}: there is no service manager for: $*" >&2; exit 1; }
pid_of() {
  pid=$(cat "$state/$1.pid" 2> /dev/null) || return 1
  case $(tr '\\0' ' ' < "/proc/$pid/cmdline" 2> /dev/null) in *monit*) echo "$pid" ;; *) return 1 ;; esac
}
case $1 in
  start)
    ! pid_of supervise-monit > /dev/null || exit 0
    setsid sh -c '
      while :; do
        monit -I -c /var/vcap/bosh/etc/monitrc &
        echo "$!" > "$1/monit.pid"
        wait "$!"
        sleep 1
      done' supervise-monit "$state" < /dev/null > /dev/null 2>&1 &
    echo "$!" > "$state/supervise-monit.pid"
    ;;
  kill) pid=$(pid_of monit) || exit 1; kill -TERM "$pid" ;;
  stop)
    for name in supervise-monit monit; do
      pid=$(pid_of "$name") || continue
      kill -KILL "$pid"
    done
    ;;
  *) echo "\${0##*/}: $1 is not known here" >&2; exit 1 ;;
esac
`;

/**
 * Shell functions of the shims. The hint of a persistent disk is the folder `store` inside its volume. The
 * disk appears at /var/vcap/store or, while it is filled, at /var/vcap/store_migration_target: by a bind
 * mount if the container has CAP_SYS_ADMIN, else by a symbolic link. For a link, a background process (the
 * keeper) keeps its working directory in the volume, so that the disk counts as in use, as with a bind mount.
 */
export const shimFunctions = `PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH
set -u
hub=/warden-cpi-dev/disks
store=/var/vcap/store
target=/var/vcap/store_migration_target
state=/var/lib/bosh-kubernetes
fail() { echo "\${0##*/}: $*" >&2; exit 32; }
may_mount() {
  caps=$(awk '/^CapEff:/ { print $2 }' /proc/self/status)
  [ $(((0x$caps >> 21) & 1)) -eq 1 ]
}
is_hint() {
  case $1 in
    "$hub"/*/store) inner=\${1#"$hub"/}; case \${inner%/store} in '' | *[!a-z0-9-]*) return 1 ;; esac ;;
    *) return 1 ;;
  esac
}
# the hint of what is shown at $1; nothing where that is no disk
shown() {
  if [ -L "$1" ]; then
    if is_hint "$(readlink "$1")" && [ -d "$1" ]; then readlink "$1"; fi
    return
  fi
  awk -v point="$1" -v hub="$hub/" '
    $5 == point { device = $3; root = $4; mounted = 1 }
    index($5, hub) == 1 { disk[$5] = $3 " " ($4 == "/" ? "" : $4) "/store" }
    END { if (mounted) for (path in disk) if (disk[path] == device " " root) print path "/store" }
  ' /proc/self/mountinfo | head -n 1
}
keeper_file() { echo "$state/keeper-\${1##*/}"; }
# the process that keeps the disk at $1 in use
keeper() {
  pid=$(cat "$(keeper_file "$1")" 2> /dev/null) || return 0
  [ "$(readlink "/proc/$pid/cwd" 2> /dev/null)" = "$(readlink -f "$1")" ] && echo "$pid"
  return 0
}
link() {
  if [ -L "$2" ]; then
    rm "$2"
  elif ! rmdir "$2" 2> /dev/null; then
    mv "$2" "$2.below" || fail "$2 is not empty and cannot be moved aside"
  fi
  ln -s "$1" "$2" || fail "$2 cannot be made a link to $1"
  ( cd "$1" && exec setsid sleep infinity < /dev/null > /dev/null 2>&1 ) &
  echo "$!" > "$(keeper_file "$2")"
}
unlink_disk() {
  kept=$(keeper "$1")
  who=$(using "$(readlink -f "$1")" "$kept")
  [ -z "$who" ] || fail "$1: target is busy: $who"
  # first: ended half way, a keeper without its link would hold the disk for ever
  [ -z "$kept" ] || kill -KILL "$kept"
  rm -f "$(keeper_file "$1")"
  rm "$1"
  if [ -d "$1.below" ]; then mv "$1.below" "$1"; else mkdir "$1"; fi
}
# processes in or with open files in folder $1, except $2. Those of another user show to that user only,
# because CAP_SYS_PTRACE is none of the default capabilities.
using() {
  stat -c '%u %g' /proc/[0-9]* 2> /dev/null | sort -u | while read -r uid gid; do
    as=
    [ "$uid" = "$(id -u)" ] || as="setpriv --reuid $uid --regid $gid --clear-groups --"
    $as find /proc/[0-9]*/cwd /proc/[0-9]*/root /proc/[0-9]*/fd -maxdepth 1 \\
      '(' -lname "$1" -o -lname "$1/*" ')' 2> /dev/null
  done | sed -n 's#^/proc/\\([0-9]*\\)/.*#\\1#p' | sort -u | grep -vx "\${2:-0}" | tr '\\n' ' '
}
`;

/**
 * `umount` for an upstream agent: `umount <hint>` unmounts the disk from /var/vcap/store and
 * store_migration_target, at each path where it appears; a link is removed unless a process uses the disk.
 * Anything else is umount(8) itself.
 */
export const umountShim = `#!/bin/sh
. /var/lib/bosh-kubernetes/shims/functions
take_away() {
  if [ -L "$1" ]; then unlink_disk "$1"; else umount -- "$1" || exit 32; fi
}
[ "\${1:-}" != -- ] || shift
[ "$#" -eq 1 ] || exec umount "$@"
if is_hint "$1"; then
  found=
  for point in "$target" "$store"; do
    [ "$(shown "$point")" = "$1" ] || continue
    take_away "$point"
    found=1
  done
  [ -n "$found" ] || fail "$1: not mounted"
elif [ -L "$1" ] && { [ "$1" = "$store" ] || [ "$1" = "$target" ]; }; then
  take_away "$1"
elif grep -qsF " on $1 type " "$state/noted"; then
  grep -vF " on $1 type " "$state/noted" > "$state/noted.new"
  mv "$state/noted.new" "$state/noted"
else
  exec umount -- "$1"
fi
`;

/** The shims are on the container's own root file system, so what they record is valid for one life of it. */
const shims: Readonly<Record<string, string>> = {
  functions: shimFunctions,
  hostname: hostnameShim,
  mount: mountShim,
  sv: serviceShim,
  systemctl: serviceShim,
  umount: umountShim,
};

/** Quotes `text` as one argument of a shell. */
export const shellQuote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

// the shell writes the files itself: a process for each would take most of the entry's time
const install = ([name, text]: readonly [string, string]): string =>
  `printf %s ${shellQuote(text)} > "$shims/${name}"\n`;

/**
 * Shell commands that write the shims and set `shims` to their folder, to be put first in an agent's PATH.
 */
export const installShims = `shims=/var/lib/bosh-kubernetes/shims
mkdir -p "$shims"
${Object.entries(shims).map(install).join('')}chmod 755 "$shims"/*
`;
