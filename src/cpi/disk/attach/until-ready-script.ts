import type { Pod } from '../../../kubernetes/types/pod.ts';
import { mountContainer } from '../../objects/layout.ts';

/**
 * The mount container locks this file in the attachment pod's own folder from the moment it has mounted the
 * volume until it ends.
 */
export const readyLock = '/scratch/ready';

/** Starts a script that the CPI runs in the mount container. The time is in tenths of a second. */
const untilReady = `left=100
until [ -e ${readyLock} ] && ! (flock -n 8) 8< ${readyLock}; do
  left=$((left - 1))
  [ "$left" -gt 0 ] || { echo "the mount container has not mounted the volume yet" >&2; exit 1; }
  sleep 0.1
done
`;

/**
 * Follows the functions of each script that the CPI runs in a mount container. The third argument of the
 * script is the uid of the attachment pod: an exec reaches the pod that has the name now, and that may be
 * another VM's. In a pod that cannot determine its uid nothing is mounted (hold.ts).
 */
export const onlyInAttachment = `own=$(own_uid)
[ -z "$own" ] || [ "$own" = "$3" ] || { echo "another attachment has that name by now" >&2; exit 1; }
`;

/**
 * Begins each script that the CPI runs in the mount container of an attachment pod: it waits until the
 * container has finished its own bind. Before that, the container would mount the volume into the VM again
 * after a release, and TERM, for which it has no trap yet, would end it while the volume is mounted. Empty
 * for an attachment pod of an earlier version, which has no such lock.
 */
export function untilReadyIn({ spec }: Pod): string {
  const command = spec.containers.find(({ name }) => name === mountContainer)?.command ?? [];
  return command.some((word) => word.includes(readyLock)) ? untilReady : '';
}
