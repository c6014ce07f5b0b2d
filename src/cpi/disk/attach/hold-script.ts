import { bindFunction } from './bind-script.ts';
import { readyLock } from './until-ready-script.ts';
import { mountFailedExit, volumeFunctions } from './volume-functions.ts';

/**
 * The mount container of an attachment pod. It mounts the volume at each of its starts, once attach_disk has
 * had it mounted (bind-script.ts), and keeps the mount until it is to be released. Then it unmounts as soon
 * as nothing uses the volume, and idles until it is deleted. The process that mounts is also the one that
 * gets SIGTERM, so no deletion can fall between mount and hold. The volume is to be released when
 * - TERM arrives: then the process also exits after the release;
 * - the VM's preStop hook has left its marker in the hub, a directory of root;
 * - no process of the VM's pod, its pause container included, has been on the node for 30 s. Processes are
 *   identified by the pod's uid in their cgroup, so this applies only if the container's own cgroup shows its
 *   own uid; otherwise (the embedded node has no cgroups) a container that waits for its restart would look
 *   like a deleted VM.
 *
 * The last two may pass: a kubelet that makes the sandbox of the VM's pod again runs the preStop hook, and may
 * need longer than 30 s. The process then mounts the volume again.
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
