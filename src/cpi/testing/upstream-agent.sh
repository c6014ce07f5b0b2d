#!/bin/sh
# Repeats the upstream agent's use of mount(8), command by command, with a folder as hint and the agent.json
# of warden stemcells (bosh-agent e94765a: agent/bootstrap.go, agent/action/*_disk.go,
# platform/linux_platform.go, platform/disk/linux_mounter.go, linux_bind_mounter.go, cmd_mounts_searcher.go).
# Started by the entry script, it is the agent; called with the name of an action and its arguments, it runs
# that action. All programs are found through PATH.
set -u
bosh=/var/vcap/bosh
store=/var/vcap/store
migration=/var/vcap/store_migration_target
fail() { echo "$*" >&2; exit 1; }

search_mounts() { mount | awk 'NF { print $1, $3 }'; }
device_at() { search_mounts | awk -v point="$1" '$2 == point { print $1; exit }'; }
is_mounted() { search_mounts | awk -v what="$1" '$1 == what || $2 == what { found = 1 } END { exit !found }'; }
# linuxMounter.shouldMount: 0 mount, 1 already mounted, 2 refused
should_mount() {
  search_mounts | awk -v device="$1" -v point="$2" '
    $1 == device && $2 == point { exit 1 }
    $1 == device && $2 != point && device != "tmpfs" { print "Device " $1 " is already mounted to " $2 > "/dev/stderr"; exit 2 }
    $2 == point && device != "" { print "Device " $1 " is already mounted to " $2 > "/dev/stderr"; exit 2 }'
}
# linuxMounter.MountFilesystem: source, point, options as separate words
mount_plain() {
  should_mount "$1" "$2"
  case $? in 1) return 0 ;; 2) return 1 ;; esac
  mount "$@"
}
mount_bind() { mount_plain "$@" -o bind; }
remount_in_place() {
  point=$1
  shift
  is_mounted "$point" || fail "Error finding existing mount point $point"
  mount_plain '' "$point" -o remount "$@"
}
unmount() {
  is_mounted "$1" || return 3
  tries=${UNMOUNT_TRIES:-600}
  until umount "$1"; do
    tries=$((tries - 1))
    [ "$tries" -gt 0 ] || return 1
    sleep 1
  done
}

hints=$bosh/persistent_disk_hints.json
cids() { sed -n 's/.*"ID":"\([^"]*\)".*/\1/p' "$hints" 2> /dev/null; }
path_of() { sed -n "s/.*\"ID\":\"$1\",\"Path\":\"\([^\"]*\)\".*/\1/p" "$hints" 2> /dev/null | grep . || fail "Persistent disk with volume id '$1' could not be found"; }
write_hints() { awk 'BEGIN { print "{" } NR > 1 { print "," } { print } END { print "}" }' > "$hints.new" && mv "$hints.new" "$hints"; }
entries() { grep '"ID"' "$hints" 2> /dev/null; }

bind_dir() {
  mkdir -p "$1"
  is_mounted "$2" || mount_bind "$1" "$2" || fail "Bind mounting $1 dir over $2"
  remount_in_place "$2" -o nodev -o nosuid -o noexec || fail "remounting $2"
}

boot() {
  echo "$PATH" > "$bosh/agent.path"
  hostname "$(hostname)" || fail 'Setting hostname'
  [ -z "$(device_at /dev/shm)" ] || remount_in_place /dev/shm -o noexec -o nodev -o nosuid || fail 'remounting /dev/shm'
  bind_dir /var/vcap/data/root_log /var/log
  mkdir -p /var/vcap/data/sys/run
  [ -n "$(device_at /var/vcap/data/sys/run)" ] ||
    mount_plain tmpfs /var/vcap/data/sys/run -t tmpfs -o size=16m || fail 'Mounting tmpfs to /var/vcap/data/sys/run'
  is_mounted /home || { mount_bind /home /home && remount_in_place /home -o nodev -o nosuid; } || fail 'mounting home'
  last=$(cat "$bosh/managed_disk_settings.json" 2> /dev/null)
  if [ -n "$last" ]; then
    [ -z "$(cids)" ] || cids | grep -qx "$last" || fail 'Attached disk disagrees with previous mount'
    # sfdisk -d finds no partition table in a folder, so the disk is not mounted again
  fi
  [ "$(cids | wc -l)" -le 1 ] || fail 'Unexpected disk attached'
  [ ! -x "$bosh/job" ] || "$bosh/job"
  echo booted >> "$bosh/boots"
  : > /run/agent
  trap 'exit 0' TERM
  while :; do
    sleep 1000 &
    wait "$!"
  done
}

case $1 in
  */agent.cjs) boot ;;
  add_persistent_disk)
    { entries | grep -vF "\"$2\"" | sed 's/,$//'; echo "\"$2\":{\"ID\":\"$2\",\"Path\":\"$3\"}"; } | write_hints
    ;;
  remove_persistent_disk) entries | grep -vF "\"$2\"" | write_hints ;;
  mount_disk)
    path=$(path_of "$2") || exit 1
    point=$store
    [ -z "$(device_at "$store")" ] || point=$migration
    mkdir -p -m 0700 "$point"
    mount_bind "$path" "$point" || exit 1
    printf %s "$2" > "$bosh/managed_disk_settings.json"
    ;;
  list_disk)
    for cid in $(cids); do
      if is_mounted "$(path_of "$cid")"; then echo "$cid"; fi
    done
    ;;
  unmount_disk)
    path=$(path_of "$2") || exit 1
    unmount "$path"
    case $? in
      0) echo "Unmounted partition of $2" ;;
      3) echo "Partition of $2 is not mounted" ;;
      *) exit 1 ;;
    esac
    ;;
  migrate_disk)
    # RemountAsReadonly has no effect if disks are bind mounts.
    (tar -C "$store" --xattrs '--xattrs-include=*.*' --sparse -cf - .) |
      (tar -C "$migration" --xattrs '--xattrs-include=*.*' -xpf -) || exit 1
    unmount "$store" || [ $? -eq 3 ] || exit 1
    device=$(device_at "$migration")
    [ -n "$device" ] || fail "Error finding device for mount point $migration"
    unmount "$migration" || exit 1
    mount_bind "$device" "$store"
    ;;
  *) fail "unknown message $1" ;;
esac
