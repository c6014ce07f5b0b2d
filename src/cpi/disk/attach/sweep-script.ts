import { volumeFunctions } from './volume-functions.ts';

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
