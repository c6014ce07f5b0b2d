import { volumeFunctions } from './volume-functions.ts';

/**
 * The container of a sweeper: unmounts every volume in the hub of a VM whose containers have ended that nobody uses, again and
 * again until it is deleted. It has no volume itself: what is mounted in the hub says which it is.
 */
export const sweepScript = `${volumeFunctions}
trap 'exit 0' TERM INT
while :; do
  for entry in /hub/*; do
    cid=\${entry##*/}
    volume=$(mounted_at "$entry")
    if [ -n "$volume" ]; then
      [ "$(users "$volume")" = . ] && umount "$entry" || continue
    fi
    rmdir "$entry" 2>/dev/null
  done
  sleep 1 & wait "$!"
done
`;
