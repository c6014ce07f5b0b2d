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
# processes in or with open files in folder $1, but for $2. Those of another user show to that user only, because
# CAP_SYS_PTRACE is none of the default capabilities.
using() {
  stat -c '%u %g' /proc/[0-9]* 2> /dev/null | sort -u | while read -r uid gid; do
    as=
    [ "$uid" = "$(id -u)" ] || as="setpriv --reuid $uid --regid $gid --clear-groups --"
    $as find /proc/[0-9]*/cwd /proc/[0-9]*/root /proc/[0-9]*/fd -maxdepth 1 \\
      '(' -lname "$1" -o -lname "$1/*" ')' 2> /dev/null
  done | sed -n 's#^/proc/\\([0-9]*\\)/.*#\\1#p' | sort -u | grep -vx "\${2:-0}" | tr '\\n' ' '
}
`;
