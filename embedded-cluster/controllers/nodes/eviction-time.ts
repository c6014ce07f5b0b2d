import type { Taint } from '../../../src/kubernetes/types/node.ts';
import type { Toleration } from '../../../src/kubernetes/types/pod.ts';
import { tolerates } from '../scheduling/node-fit.ts';

/**
 * Returns when a pod must leave a node because of taints NoExecute: milliseconds since the epoch, or
 * undefined for never. Each taint counts from the time when it was added; the earliest time applies
 * (pkg/controller/tainteviction, getMinTolerationTime). Pure.
 */
export function evictionTime(
  tolerations: readonly Toleration[],
  taints: readonly Taint[],
  now: number,
): number | undefined {
  const ends = taints
    .filter(({ effect }) => effect === 'NoExecute')
    .flatMap((taint) => tolerationEnd(tolerations, taint, now));
  return ends.length === 0 ? undefined : Math.min(...ends);
}

function tolerationEnd(tolerations: readonly Toleration[], taint: Taint, now: number): number[] {
  const covering = tolerations.filter((toleration) => tolerates([toleration], taint));
  if (covering.length === 0) return [now];
  const seconds = covering.flatMap(({ tolerationSeconds }) => tolerationSeconds ?? []);
  const since = Date.parse(taint.timeAdded ?? '');
  return seconds.map((each) => (Number.isNaN(since) ? now : since) + Math.max(0, each) * 1000);
}
