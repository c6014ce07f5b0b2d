import { volumeFunctions } from './volume-functions.ts';

/**
 * The container of a sweeper: unmounts every volume in the hub of a VM whose containers have ended that nobody uses, again and
 * again until it is deleted. It has no volume itself: what is mounted in the hub says which it is, wherever the VM has moved it.
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
