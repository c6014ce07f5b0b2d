import type { Pod, PodStatus } from '../../../src/kubernetes/types/pod.ts';
import { timestamp } from '../runtime/event-recorder.ts';

/**
 * Returns the status of a pod with the reason why the control plane ends it (condition DisruptionTarget, KEP
 * 3329). `now` is in milliseconds. Pure.
 */
export function withDisruptionTarget(
  pod: Pod,
  now: number,
  why: { readonly reason: string; readonly message: string },
): Pick<PodStatus, 'conditions'> {
  const others = (pod.status?.conditions ?? []).filter(({ type }) => type !== 'DisruptionTarget');
  return {
    conditions: [
      ...others,
      { type: 'DisruptionTarget', status: 'True', ...why, lastTransitionTime: timestamp(now) },
    ],
  };
}
