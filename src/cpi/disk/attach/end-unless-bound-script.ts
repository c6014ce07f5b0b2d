import { onlyInAttachment } from './until-ready-script.ts';
import { volumeFunctions } from './scripts/volume-functions.ts';

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
