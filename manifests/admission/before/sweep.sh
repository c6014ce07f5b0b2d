set -u
cid=$1
vm=$2
entry=/hub/$cid
ending=
fail() { echo "$*" >&2; exit 64; }
for tool in awk stat flock mount umount grep; do
  command -v "$tool" > /dev/null || fail "the stemcell has no $tool, which attaching a disk needs"
done
mounted_at() {
  awk -v point="$1" '$5 == point { found = $3 " " $4 } END { print found }' /proc/self/mountinfo
}
is_bound() {
  awk -v entry="$entry" '
    $5 == entry { bound = $3 " " $4 }
    $5 == "/volume" { volume = $3 " " $4 }
    END { exit bound == "" || bound != volume }' /proc/self/mountinfo
}
own_uid() {
  awk '$5 == "/scratch" && match($4, /\/pods\/[^\/]+\/volumes\//) {
    print substr($4, RSTART + 6, RLENGTH - 15)
  }' /proc/self/mountinfo
}
# a pod's uid in a cgroup's name: with dashes, or underscores
has_processes() {
  grep -qsE "pod($1|$(echo "$1" | tr - _))" /proc/[0-9]*/cgroup
}
# by ENVIRON, since -v would read the escapes that mountinfo writes
users() {
  volume=$1
  stat -Lc '%i %n' /proc/[0-9]*/ns/mnt 2>/dev/null | root="${volume#* }" awk \
    -v device="${volume%% *}" -v cid="$cid" \
    -v own="$(stat -Lc %i /proc/self/ns/mnt)" -v uid="$(own_uid)" '
    function ends(text, tail) { return substr(text, length(text) - length(tail) + 1) == tail }
    function inside(path) { return path == root || root == "/" || index(path, root "/") == 1 }
    function ours(point) {
      return ends(point, "/warden-cpi-dev/disks/" cid) || ends(point, "/hub/disks/" cid) || point == "/hub/" cid ||
        index(point, "/pods/" uid "/volumes/") || (index(point, "/plugins/") && ends(point, "/globalmount"))
    }
    BEGIN {
      root = ENVIRON["root"]
      while ((getline line < "/proc/1/mountinfo") > 0) {
        split(line, field, " ")
        if (field[3] == device && inside(field[4])) node[field[5], field[4]] = 1
      }
    }
    $1 != own && !($1 in seen) {
      split($2, part, "/")
      file = "/proc/" part[3] "/mountinfo"
      lines = 0
      while ((getline line < file) > 0) {
        lines++
        split(line, field, " ")
        if (field[3] != device || !inside(field[4]) || ours(field[5])) continue
        if ((field[5], field[4]) in node) continue
        print "process " part[3] " has it mounted at " field[5]
      }
      close(file)
      if (lines) seen[$1] = 1
    }
    END { print "." }'
}
# 0: the volume is not in the hub any more, nor, once the holder is ending, again; 16: it is in use, stdout says by whom
release() (
  let_go() { [ -z "$ending" ] || : > /scratch/ended; exit 0; }
  exec 9>/scratch/lock
  flock -w 30 9 || { echo "another release is under way"; exit 16; }
  is_bound || let_go
  volume=$(mounted_at /volume)
  using=$(users "$volume")
  [ "$using" = . ] || { echo "$using" | head -n 5; exit 16; }
  umount "$entry" 2>&1 || exit 16
  using=$(users "$volume")
  if [ "$using" != . ]; then
    mount --bind /volume "$entry"
    echo "$using" | head -n 5
    exit 16
  fi
  rmdir "$entry" 2>/dev/null
  let_go
)

trap 'exit 0' TERM INT
while :; do
  for entry in /hub/*; do
    cid=${entry##*/}
    volume=$(mounted_at "$entry")
    if [ -n "$volume" ]; then
      [ "$(users "$volume")" = . ] && umount "$entry" || continue
    fi
    rmdir "$entry" 2>/dev/null
  done
  sleep 1 & wait "$!"
done
