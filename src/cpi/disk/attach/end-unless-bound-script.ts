import { onlyInAttachment } from './until-ready-script.ts';
import { volumeFunctions } from './volume-functions.ts';

/** Exit codes of the command; anything else means that it did not run to its end. */
export const endUnlessBoundExit = { ended: 0, bound: 16 } as const;

/**
 * Run in the holder by an attach_disk that takes its attachment back: if the volume is not in the hub, no bind puts it there any more
 * (bind-script.ts), so that no other attach_disk can answer success before the pod is deleted. Idempotent.
 */
export const endUnlessBoundScript = `${volumeFunctions}${onlyInAttachment}
exec 9>/scratch/lock
flock -w 30 9 || exit 16
volume=$(mounted_at /volume)
[ -n "$volume" ] && [ -z "$(points_in_hub "$volume")" ] || exit 16
: > /scratch/ended
`;
