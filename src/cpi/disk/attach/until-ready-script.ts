import type { Pod } from '../../../kubernetes/pod.ts';
import { mountContainer } from '../../own-containers.ts';

/** Locked by the mount container, in the attachment's own folder, from the moment it has mounted the volume until it ends. */
export const readyLock = '/scratch/ready';

/** Starts a script that the CPI runs in the mount container, in tenths of a second. */
const untilReady = `left=100
until [ -e ${readyLock} ] && ! (flock -n 8) 8< ${readyLock}; do
  left=$((left - 1))
  [ "$left" -gt 0 ] || { echo "the mount container has not mounted the volume yet" >&2; exit 1; }
  sleep 0.1
done
`;

/**
 * Follows the functions of each script that the CPI runs in a mount container, whose third argument is the uid of the attachment: an
 * exec reaches the pod that has the name by now, and that may be another VM's. In one that cannot tell its uid nothing is mounted
 * (bind-script.ts).
 */
export const onlyInAttachment = `own=$(own_uid)
[ -z "$own" ] || [ "$own" = "$3" ] || { echo "another attachment has that name by now" >&2; exit 1; }
`;

/**
 * Begins each script that the CPI runs in the mount container of an attachment: the container has been through its own bind by then.
 * Before, it would put the volume back into the VM after a release, and TERM, for which it has no trap yet, would end it while the
 * volume is mounted. Empty for an attachment of an earlier version, which does not tell.
 */
export function untilReadyIn({ spec }: Pod): string {
  const command = spec.containers.find(({ name }) => name === mountContainer)?.command ?? [];
  return command.some((word) => word.includes(readyLock)) ? untilReady : '';
}
