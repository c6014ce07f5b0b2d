import { matchesRequirement } from '../../../src/kubernetes/types/label-selector.ts';
import type { NodeSelectorTerm, Pod } from '../../../src/kubernetes/types/pod.ts';
import type { Node } from '../../../src/kubernetes/types/node.ts';

export { matchesLabelSelector } from '../../../src/kubernetes/types/label-selector.ts';

type Labels = Readonly<Record<string, string>>;

/**
 * Returns true if a term matches the node: terms are ORed, the requirements of a term are ANDed, and an empty
 * term matches nothing.
 */
export function matchesNodeTerms(
  terms: readonly NodeSelectorTerm[],
  node: { readonly name: string; readonly labels: Labels },
): boolean {
  return terms.some((term) => matchesNodeTerm(term, node));
}

/**
 * Evaluates one term (component-helpers scheduling/corev1/nodeaffinity). The only supported field is
 * metadata.name.
 */
export function matchesNodeTerm(
  { matchExpressions = [], matchFields = [] }: NodeSelectorTerm,
  node: { readonly name: string; readonly labels: Labels },
): boolean {
  const fields = { 'metadata.name': node.name };
  return (
    matchExpressions.length + matchFields.length > 0 &&
    matchExpressions.every((requirement) => matchesRequirement(requirement, node.labels)) &&
    matchFields.every((requirement) => matchesRequirement(requirement, fields))
  );
}

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
      matchesNodeTerms(required.nodeSelectorTerms, { name: node.metadata.name, labels }))
  );
}

/** Returns the sum of the weights of the pod's preferences that the node meets. Pure. */
export function preferredWeight(pod: Pod, node: Node): number {
  const fields = { name: node.metadata.name, labels: node.metadata.labels ?? {} };
  return (pod.spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [])
    .filter((term) => matchesNodeTerm(term.preference, fields))
    .reduce((sum, { weight }) => sum + weight, 0);
}
