import { onlyInAttachment } from './until-ready-script.ts';
import { volumeFunctions } from './volume-functions.ts';

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
