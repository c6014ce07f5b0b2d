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
