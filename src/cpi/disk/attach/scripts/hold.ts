import { hubVolume } from '../../../objects/layout.ts';
import { onlyInAttachment, readyLock, mountFailedExit, volumeFunctions } from './volume-functions.ts';

/**
 * How long the processes of a force-deleted VM may take to end on the node, by the clock. Shorter than a wait
 * for the lock.
 */
const otherVmTimeoutSeconds = 20;

/**
 * Exit codes of `bind` besides 0 and `mountFailedExit`. `released`: a detach_disk has released the disk in
 * this attachment pod.
 */
export const bindExit = { released: 17 } as const;

/**
 * Mounts the volume into the VM's hub. Does nothing if it is mounted already, also in a new container or a
 * new sandbox. The mount container runs it at its own start only if an attach_disk has run it before, which
 * means that the claim is marked. An attachment pod never mounts a disk again that a detach_disk has released
 * in it. Refuses in three cases: (1) The hub is not a tmpfs of its own: the kubelet would delete the disk's
 * data with the plain directory. (The kubelet's own folder may be on a tmpfs.) (2) The container is ending:
 * the mount would stay. (3) The node has the volume mounted in the hub of another VM with running processes:
 * two VMs would write to one disk. A force-deleted attachment pod leaves its mount behind, and no object
 * records it.
 */
export const bindFunction = `other_hubs() {
  root="\${volume#* }" awk -v device="\${volume%% *}" -v vm="$vm" -v tail="/volumes/kubernetes.io~empty-dir/${hubVolume}/disks/$cid" '
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
# of a VM that was made when its hub was open to every user of the VM
own_hub() (
  cd /hub && chown 0:0 . && chmod 755 . && in_disks && chmod 755 . || fail "the VM's hub cannot be made root's"
)
# the highest mark of an attach_disk that had the volume mounted here
note_attached() { [ -z "$mark" ] || [ "$(attached_mark)" -ge "$mark" ] || echo "$mark" > /scratch/attached; }
uptime_seconds() { read -r seconds rest < /proc/uptime && echo "\${seconds%.*}"; }
# the mark of the attach_disk that runs this
mark=
bind() (
  exec 9>/scratch/lock
  flock -w 30 9 || fail "disk $cid is being released"
  if [ -n "$mark" ]; then
    [ ! -e /scratch/released ] || exit ${bindExit.released}
  elif [ -e /scratch/released ]; then
    exit 0
  elif [ ! -e /scratch/attached ]; then
    # of a former attachment: from now on this one keeps it in the VM
    ! is_bound || adopt
    exit 0
  fi
  [ ! -e /scratch/ended ] || fail "the attachment of disk $cid is ending"
  kind=$(awk '$5 == "/hub" { for (i = 7; i < NF; i++) if ($i == "-") found = $(i + 1) " " $4 } END { print found }' /proc/self/mountinfo)
  [ "$kind" = "$own_tmpfs" ] || fail "the hub of the VM is not a tmpfs of its own but '$kind': the disk is not mounted there"
  [ -n "$(own_uid)" ] || fail "the pod's own uid does not show in the mount of /scratch"
  if is_bound; then
    note_attached
    exit 0
  fi
  at_entry=$(mounted_at "$entry")
  [ -z "$at_entry" ] || fail "another volume ($at_entry) is mounted as disk $cid"
  volume=$(mounted_at /volume)
  end=$(($(uptime_seconds) + ${otherVmTimeoutSeconds}))
  while other=$(other_vm) && [ -n "$other" ]; do
    [ "$(uptime_seconds)" -lt "$end" ] || fail "it is still mounted in another VM on the node, whose pod has the uid" $other "and has no attachment to it any more: detach the disk there, or delete that VM"
    sleep 1
  done
  [ ! -L /volume/store ] || fail "'store' in the root of disk $cid is a link, which another VM left: remove it with a pod that mounts the claim"
  mkdir -p /volume/store || fail "disk $cid cannot be written"
  # a provisioner may leave it open to all; where root is squashed, this cannot be done
  chown 0:0 /volume 2>/dev/null && chmod go-w /volume 2>/dev/null
  note_attached
  own_hub && put_in || exit ${mountFailedExit}
  is_bound || fail "disk $cid is not in the hub after mounting it"
)
`;

/**
 * attach_disk runs this script in the mount container; the fourth argument is its mark. By its success
 * attach_disk knows that the disk is in the VM.
 */
export const bindScript = `${volumeFunctions}${onlyInAttachment}${bindFunction}mark=$4
bind
`;

/**
 * The mount container of an attachment pod. It mounts the volume at each of its starts, once attach_disk has
 * had it mounted (`bindScript`), and keeps the mount until it is to be released. Then it unmounts as soon
 * as nothing uses the volume, and idles until it is deleted. The process that mounts is also the one that
 * gets SIGTERM, so no deletion can fall between mount and hold. The volume is to be released when
 * - TERM arrives: then the process also exits after the release;
 * - the VM's preStop hook has left its marker in the hub, a directory of root;
 * - no process of the VM's pod, its pause container included, has been on the node for 30 s. Processes are
 *   identified by the pod's uid in their cgroup, so this applies only if the container's own cgroup shows its
 *   own uid; otherwise (the embedded node has no cgroups) a container that waits for its restart would look
 *   like a deleted VM.
 *
 * The last two may pass: a kubelet that makes the sandbox of the VM's pod again runs the preStop hook, and
 * may need longer than 30 s. The process then mounts the volume again.
 */
export const holdScript = `${volumeFunctions}${bindFunction}trap 'ending=1' TERM INT
# of a life before: a sandbox that is made again ends the holder too
rm -f /scratch/ended
bind || exit ${mountFailedExit}
exec 8> ${readyLock}
flock 8
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
# whatever it is; a VM of version 0.1.0 makes a file
is_going() { [ -e /hub/.going ] || [ -L /hub/.going ]; }
is_out=
while :; do
  if [ -n "$ending" ] || is_going || vm_is_gone; then
    asked=$ending
    release > /scratch/users 2>&1
    case $? in
      0) [ -z "$asked" ] || exit 0; is_out=1; pause 1 ;;
      ${mountFailedExit}) cat /scratch/users >&2; exit ${mountFailedExit} ;;
      *) pause 0.3 ;;
    esac
  elif [ -n "$is_out" ]; then
    # not the code of a failed mount: a release by exec may be under way, and ends with the container
    bind || exit 1
    is_out=
  else
    pause 1
  fi
done
`;
