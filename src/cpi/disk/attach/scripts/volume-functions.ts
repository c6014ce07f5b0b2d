import type { Pod } from '../../../../kubernetes/types/pod.ts';
import { mountContainer } from '../../../objects/layout.ts';

/**
 * The mount container locks this file in the attachment pod's own folder from the moment it has mounted the
 * volume until it ends.
 */
export const readyLock = '/scratch/ready';

/** Starts a script that the CPI runs in the mount container. The time is in tenths of a second. */
const untilReady = `left=100
until [ -e ${readyLock} ] && ! (flock -n 8) 8< ${readyLock}; do
  left=$((left - 1))
  [ "$left" -gt 0 ] || { echo "the mount container has not mounted the volume yet" >&2; exit 1; }
  sleep 0.1
done
`;

/**
 * Follows the functions of each script that the CPI runs in a mount container. The third argument of the
 * script is the uid of the attachment pod: an exec reaches the pod that has the name now, and that may be
 * another VM's. In a pod that cannot determine its uid nothing is mounted (hold.ts).
 */
export const onlyInAttachment = `own=$(own_uid)
[ -z "$own" ] || [ "$own" = "$3" ] || { echo "another attachment has that name by now" >&2; exit 1; }
`;

/**
 * Begins each script that the CPI runs in the mount container of an attachment pod: it waits until the
 * container has finished its own bind. Before that, the container would mount the volume into the VM again
 * after a release, and TERM, for which it has no trap yet, would end it while the volume is mounted. Empty
 * for an attachment pod of an earlier version, which has no such lock.
 */
export function untilReadyIn({ spec }: Pod): string {
  const command = spec.containers.find(({ name }) => name === mountContainer)?.command ?? [];
  return command.some((word) => word.includes(readyLock)) ? untilReady : '';
}

/** Exit code of a script that could not mount the volume. stderr has the reason. */
export const mountFailedExit = 64;

/**
 * Shell functions of an attachment pod's scripts. $1 is the disk's cid (of a sweeper: the VM's), $2 the uid
 * of the VM's pod; the volume is at /volume, the VM's hub at /hub, and /scratch belongs to the attachment
 * pod. Attachment pods of version 0.1.0 have the hub's folder `disks` at /hub and the whole hub at /vm/hub;
 * the CPI runs these scripts in them, too.
 *
 * Root of the VM can change the hub at any moment. So nothing is mounted on a path below it: `stand_in` makes
 * a directory the working directory and checks it there (a directory of root in the hub's own file system, at
 * its own path, so no link led to it). Then the volume is mounted onto `.`, which no rename and no link can
 * change. At worst it is elsewhere in the same hub. umount(8) has no such way: a path that is changed at that
 * moment can name another mount of this container, but none of the node (mount(2) and umount(2) refuse a
 * mount of another mount namespace), and the checks that follow then find no volume and fail.
 *
 * A volume is identified by device and root (mountinfo fields 3 and 4). It is in use while some mount
 * namespace of the node (hostPID) has it, or a folder of it, mounted anywhere but at
 * - the hub entry, after any prefix, in a mount namespace that contains the hub,
 * - the volume plugin's own paths: the attachment pod's volumes and globalmount,
 * - a path where the node's own init sees the same root of it: the source of a static local volume. The node
 *   may have that at a path that VMs use, too, but not the folder `store` in it.
 * If the search does not finish, the volume counts as in use.
 */
export const volumeFunctions = `set -u
cid=$1
vm=$2
disks=/hub/disks
own_tmpfs='tmpfs /'
[ ! -d /vm/hub ] || { disks=/hub own_tmpfs='tmpfs /disks'; }
entry=$disks/$cid
ending=
# of detach_disk: the mark of the last attach_disk that it knows of
seen_mark=
fail() { echo "$*" >&2; exit ${mountFailedExit}; }
for tool in awk stat flock mount umount grep readlink sed; do
  command -v "$tool" > /dev/null || fail "the stemcell has no $tool, which attaching a disk needs"
done
mounted_at() {
  awk -v point="$1" '$5 == point { found = $3 " " $4 } END { print found }' /proc/self/mountinfo
}
# mount points below /hub, as mountinfo writes them, of volume $1
points_in_hub() {
  device="\${1%% *}" root="\${1#* }" awk '
    index($5, "/hub/") == 1 && $3 == ENVIRON["device"] && $4 == ENVIRON["root"] { print $5 }' /proc/self/mountinfo
}
# sets path to what mountinfo writes as $1: space, tab, newline and backslash are octal there
unescape() {
  path=$(printf %b. "$(printf %s "$1" | sed 's/\\\\\\([0-7][0-7][0-7]\\)/\\\\0\\1/g')")
  path=\${path%.}
}
stand_in() {
  cd -P "$1" 2>/dev/null &&
    [ "$(stat -c '%d %u %F' .) $(readlink /proc/self/cwd)" = "$(stat -c %d /hub) 0 directory $2" ]
}
in_disks() { stand_in "$disks" "$disks" || fail "$disks is no directory of root in the VM's hub"; }
# in a shell of its own: a working directory in the hub would keep it busy
put_in() (
  in_disks
  mkdir -p "$cid" && stand_in "$cid" "$entry" || fail "disks/$cid in the VM's hub is no directory of root"
  mount --no-canonicalize --bind /volume . || fail "disk $cid cannot be mounted into the hub"
)
is_bound() {
  awk -v entry="$entry" '
    $5 == entry { bound = $3 " " $4 }
    $5 == "/volume" { volume = $3 " " $4 }
    END { exit bound == "" || bound != volume }' /proc/self/mountinfo
}
own_uid() {
  awk '$5 == "/scratch" && match($4, /\\/pods\\/[^\\/]+\\/volumes\\//) {
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
  stat -Lc '%i %n' /proc/[0-9]*/ns/mnt 2>/dev/null | cid=$cid root="\${volume#* }" awk \\
    -v device="\${volume%% *}" \\
    -v own="$(stat -Lc %i /proc/self/ns/mnt)" -v uid="$(own_uid)" '
    function ends(text, tail) { return substr(text, length(text) - length(tail) + 1) == tail }
    function inside(path) { return path == root || root == "/" || index(path, root "/") == 1 }
    function ours(point) {
      return ends(point, "/warden-cpi-dev/disks/" cid) || ends(point, "/hub/disks/" cid) || point == "/hub/" cid ||
        index(point, "/pods/" uid "/volumes/") || (index(point, "/plugins/") && ends(point, "/globalmount"))
    }
    BEGIN {
      root = ENVIRON["root"]
      cid = ENVIRON["cid"]
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
attached_mark() {
  # cut off if its writer was killed
  attached=$(cat /scratch/attached 2>/dev/null)
  case $attached in '' | *[!0-9]*) echo 0 ;; *) echo "$attached" ;; esac
}
adopt() { [ -e /scratch/attached ] || echo 0 > /scratch/attached; }
# 0: the volume is not in the hub any more, nor again, because the holder ends or detach_disk has released it;
# 16: it is in use, and stdout names the users; 17: an attach_disk that the detach_disk does not know of had it
# mounted. The directory in the hub is removed last: as long as it exists, the release has not ended, and a job
# may use the volume although the hub does not have it.
release() (
  let_go() {
    (in_disks && rmdir "$cid") 2>/dev/null
    [ -z "$ending" ] || : > /scratch/ended
    [ -z "$seen_mark" ] || : > /scratch/released
    exit 0
  }
  exec 9>/scratch/lock
  flock -w 30 9 || { echo "another release is under way"; exit 16; }
  volume=$(mounted_at /volume)
  [ -n "$volume" ] || fail "the volume of disk $cid is not mounted in its attachment any more"
  [ -z "$seen_mark" ] || [ "$(attached_mark)" -le "$seen_mark" ] || exit 17
  points=$(points_in_hub "$volume")
  [ -n "$points" ] || [ -e "$entry" ] || let_go
  using=$(users "$volume")
  if [ "$using" != . ]; then
    # as it was before that release
    [ -n "$points" ] || [ -z "$seen_mark" ] || { adopt && put_in; }
    echo "$using" | head -n 5
    exit 16
  fi
  [ -n "$points" ] || let_go
  # one, unless the VM's root has moved it
  echo "$points" | while read -r point; do
    unescape "$point"
    umount -- "$path" 2>&1 || exit 1
  done || exit 16
  using=$(users "$volume")
  if [ "$using" != . ]; then
    put_in
    echo "$using" | head -n 5
    exit 16
  fi
  let_go
)
`;

/** Exit codes of the release script; any other code means that it did not run. */
export const releaseExit = { released: 0, busy: 16, attachedAgain: 17 } as const;

/**
 * detach_disk runs this script in the mount container. It unmounts the volume from the hub, and retries for
 * \`$4\` seconds while it is in use. Stdout names the processes that use it. `$5` is the mark that the last
 * attach_disk has written on the claim: if a later one had the volume mounted, it stays mounted. Idempotent.
 */
export const releaseScript = `${volumeFunctions}${onlyInAttachment}
seen_mark=$5
left=$(($4 * 4))
until using=$(release); do
  [ "$?" -ne ${releaseExit.attachedAgain} ] || exit ${releaseExit.attachedAgain}
  left=$((left - 1))
  [ "$left" -gt 0 ] || { echo "$using"; exit 16; }
  sleep 0.25
done
`;

/**
 * The container of a sweeper. While it runs it keeps unmounting every unused volume in the hub of a VM whose
 * containers have ended. It has no volume itself: it identifies a volume by what is mounted in the hub,
 * wherever the VM has moved the mount.
 */
export const sweepScript = `${volumeFunctions}
trap 'exit 0' TERM INT
while :; do
  awk 'index($5, "/hub/") == 1 { print $3, $4, $5 }' /proc/self/mountinfo | while read -r device root point; do
    unescape "$point"
    cid=\${path##*/}
    [ "$(users "$device $root")" = . ] && umount -- "$path"
  done
  sleep 1 & wait "$!"
done
`;

/** Exit codes of the script; any other code means that it did not run to its end. */
export const endUnlessBoundExit = { ended: 0, bound: 16 } as const;

/**
 * A failed attach_disk runs this script in the mount container before it deletes its attachment pod. If the
 * volume is not in the hub, no later bind mounts it there (hold.ts), so that no other attach_disk can
 * succeed before the pod is deleted. Idempotent.
 */
export const endUnlessBoundScript = `${volumeFunctions}${onlyInAttachment}
exec 9>/scratch/lock
flock -w 30 9 || exit 16
volume=$(mounted_at /volume)
[ -n "$volume" ] && [ -z "$(points_in_hub "$volume")" ] || exit 16
: > /scratch/ended
`;
