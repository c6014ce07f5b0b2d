import { onlyInAttachment } from './until-ready-script.ts';
import { volumeFunctions } from './volume-functions.ts';

/** Exit codes of the release command; anything else means that it did not run. */
export const releaseExit = { released: 0, busy: 16, attachedAgain: 17 } as const;

/**
 * Run in the holder by detach_disk: takes the volume out of the hub, trying for \`$4\` seconds while it is in use.
 * Stdout says who uses it. `$5` is the mark that the last attach_disk has written on the claim: if a later one had the volume mounted,
 * it stays there. Idempotent.
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
