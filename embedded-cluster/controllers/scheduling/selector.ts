import { matchesRequirement } from '../../../src/kubernetes/types/label-selector.ts';
import type { NodeSelectorTerm } from '../../../src/kubernetes/types/pod.ts';

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
