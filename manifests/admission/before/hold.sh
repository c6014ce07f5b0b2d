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
other_hubs() {
  root="${volume#* }" awk -v device="${volume%% *}" -v vm="$vm" -v tail="/volumes/kubernetes.io~empty-dir/hub/disks/$cid" '
    $3 == device && $4 == ENVIRON["root"] {
      rest = length($5) - length(tail)
      if (rest < 1 || substr($5, rest + 1) != tail) next
      count = split(substr($5, 1, rest), part, "/")
      if (part[count] != vm && !seen[part[count]]++) print part[count]
    }' /proc/1/mountinfo
}
# where cgroups do not tell whose processes there are, a mount is enough
other_vm() {
  for uid in $(other_hubs); do
    if ! has_processes "$(own_uid)" || has_processes "$uid"; then echo "$uid"; fi
  done
}
uptime_seconds() { read -r seconds rest < /proc/uptime && echo "${seconds%.*}"; }
bind() (
  exec 9>/scratch/lock
  flock -w 30 9 || fail "disk $cid is being released"
  [ ! -e /scratch/ended ] || fail "the attachment of disk $cid is ending"
  kind=$(awk '$5 == "/hub" { for (i = 7; i < NF; i++) if ($i == "-") found = $(i + 1) " " $4 } END { print found }' /proc/self/mountinfo)
  [ "$kind" = "tmpfs /disks" ] || fail "the hub of the VM is not a tmpfs of its own but '$kind': the disk is not mounted there"
  [ -n "$(own_uid)" ] || fail "the pod's own uid does not show in the mount of /scratch"
  is_bound && exit 0
  at_entry=$(mounted_at "$entry")
  [ -z "$at_entry" ] || fail "another volume ($at_entry) is mounted as disk $cid"
  volume=$(mounted_at /volume)
  end=$(($(uptime_seconds) + 20))
  while other=$(other_vm) && [ -n "$other" ]; do
    [ "$(uptime_seconds)" -lt "$end" ] || fail "it is still mounted in another VM on the node, whose pod has the uid" $other "and has no attachment to it any more: detach the disk there, or delete that VM"
    sleep 1
  done
  mkdir -p /volume/store "$entry" || fail "disk $cid cannot be written"
  mount --bind /volume "$entry" || fail "disk $cid cannot be mounted into the hub"
  is_bound || fail "disk $cid is not in the hub after mounting it"
)
trap 'ending=1' TERM INT
# of a life before: a sandbox that is made again ends the holder too
rm -f /scratch/ended
bind || exit 64
pause() { sleep "$1" & wait "$!"; }
known=
has_processes "$(own_uid)" && known=1
looks=0
missed=0
vm_is_gone() {
  [ -n "$known" ] || return 1
  looks=$((looks + 1))
  if [ $((looks % 10)) -eq 1 ]; then
    if has_processes "$vm"; then missed=0; else missed=$((missed + 1)); fi
  fi
  [ "$missed" -ge 4 ]
}
while :; do
  if [ -n "$ending" ] || [ -e /vm/hub/.going ] || vm_is_gone; then
    asked=$ending
    if release > /scratch/users 2>&1; then
      [ -z "$asked" ] || exit 0
      pause 1
    else
      pause 0.3
    fi
  else
    pause 1
  fi
done
