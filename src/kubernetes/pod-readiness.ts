import type { Pod } from './pod.ts';

/** True if the pod's condition Ready is True (kubernetes: pkg/api/v1/pod IsPodReady). */
export function isPodReady({ status }: Pick<Pod, 'status'>): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') === true;
}
