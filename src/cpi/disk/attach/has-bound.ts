import type { Pod } from '../../../kubernetes/pod.ts';
import { holderContainer } from './attachment-pod.ts';

const holderOf = (
  pod: Pod,
): NonNullable<NonNullable<Pod['status']>['containerStatuses']>[number] | undefined =>
  pod.status?.containerStatuses?.find(({ name }) => name === holderContainer);

/** True while the holder runs, which means that the volume is mounted in the VM. */
export const isHeld = (pod: Pod): boolean => holderOf(pod)?.state?.running !== undefined;

/** True where the bind step ever came to its end: the volume may be in the VM whatever the holder's container does now. */
export function hasBound(pod: Pod): boolean {
  const bind = pod.status?.initContainerStatuses?.[0];
  return (
    isHeld(pod) ||
    bind?.state?.terminated?.exitCode === 0 ||
    holderOf(pod)?.state?.terminated !== undefined ||
    holderOf(pod)?.lastState?.terminated !== undefined
  );
}
