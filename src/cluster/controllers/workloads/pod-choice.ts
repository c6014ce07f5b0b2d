import { isPodReady } from '../../../kubernetes/pod-readiness.ts';
import type { Pod } from '../../../kubernetes/pod.ts';

/** Whether a pod counts: it neither ended nor is being deleted. */
export function isActive({ metadata, status }: Pod): boolean {
  return (
    metadata.deletionTimestamp === undefined && status?.phase !== 'Succeeded' && status?.phase !== 'Failed'
  );
}

/** Milliseconds until a ready pod has been so for that long; 0: it has. Undefined for one that is not ready. */
export function untilAvailable(pod: Pod, minReadySeconds: number, now: number): number | undefined {
  if (!isPodReady(pod)) return undefined;
  const ready = pod.status?.conditions?.find(({ type }) => type === 'Ready');
  const since = Date.parse(ready?.lastTransitionTime ?? '');
  return minReadySeconds === 0 || Number.isNaN(since) ? 0 : Math.max(0, since + 1000 * minReadySeconds - now);
}

const phases = ['Pending', 'Unknown', 'Running'];

/**
 * The pods that go first when there are too many (kubernetes: pkg/controller/controller_utils.go ActivePods): without a
 * node, then not running, then not ready, then of the lowest deletion cost, then the youngest. Pure.
 */
export function surplusOf(pods: readonly Pod[], count: number): Pod[] {
  const cost = ({ metadata }: Pod): number =>
    Number(metadata.annotations?.['controller.kubernetes.io/pod-deletion-cost'] ?? 0);
  const ranks: ((pod: Pod) => number)[] = [
    ({ spec }) => (spec.nodeName === undefined ? 0 : 1),
    ({ status }) => phases.indexOf(status?.phase ?? 'Pending'),
    (pod) => (isPodReady(pod) ? 1 : 0),
    cost,
    ({ metadata }) => -Date.parse(metadata.creationTimestamp ?? ''),
  ];
  return pods
    .toSorted((left, right) => {
      for (const rank of ranks) if (rank(left) !== rank(right)) return rank(left) - rank(right);
      return 0;
    })
    .slice(0, count);
}
