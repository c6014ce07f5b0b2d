import type { Node } from '../../../src/kubernetes/types/node.ts';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { matchesNodeTerm, matchesNodeTerms } from './selector.ts';

/**
 * Returns true if the pod's node selector and required affinity allow the node (scheduler plugin
 * NodeAffinity). Pure.
 */
export function matchesNodeOf(pod: Pod, node: Node): boolean {
  const labels = node.metadata.labels ?? {};
  const selected = Object.entries(pod.spec.nodeSelector ?? {}).every(([key, value]) => labels[key] === value);
  const required = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return (
    selected &&
    (required === undefined ||
      matchesNodeTerms(required.nodeSelectorTerms, { name: node.metadata.name ?? '', labels }))
  );
}

/** Returns the sum of the weights of the pod's preferences that the node meets. Pure. */
export function preferredWeight(pod: Pod, node: Node): number {
  const place = { name: node.metadata.name ?? '', labels: node.metadata.labels ?? {} };
  return (pod.spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [])
    .filter((term) => matchesNodeTerm(term.preference, place))
    .reduce((sum, { weight }) => sum + weight, 0);
}
