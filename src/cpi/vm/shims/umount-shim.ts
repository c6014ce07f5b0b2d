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
