import type { Node } from '../../../src/kubernetes/types/node.ts';
import type { FilterInput, NodeInfo } from './fit-question.ts';
import { filterNode } from './node-fit.ts';
import { scoreNodes } from './node-preference.ts';

export type NodeChoice = { readonly node: Node } | { readonly node: undefined; readonly message: string };

/**
 * Selects a node for a pod: of the nodes that fit, the one with the highest score, then the one with the
 * fewest pods, then the first by name. If none fits, returns kube-scheduler's message (framework/types.go,
 * FitError). Pure.
 */
export function selectHost(question: FilterInput): NodeChoice {
  const refusals = question.nodes.map((situation) => filterNode(question, situation));
  const fitting = question.nodes.filter((_, index) => refusals[index]?.length === 0);
  const liking = scoreNodes(question, fitting);
  const best = fitting
    .map((situation, index) => ({ situation, liked: liking[index] ?? 0 }))
    .toSorted(
      (one, other) =>
        other.liked - one.liked ||
        one.situation.podsOnNode.length - other.situation.podsOnNode.length ||
        nameOf(one.situation).localeCompare(nameOf(other.situation)),
    )[0];
  return best === undefined ? { node: undefined, message: unfit(refusals) } : { node: best.situation.node };
}

/** Returns the message for a reason that is the same on all nodes. */
export function filterFailureMessage(nodeCount: number, reason: string): string {
  return `0/${nodeCount} nodes are available: ${reason}. ${noPreemption(nodeCount)}`;
}

function unfit(refusals: readonly string[][]): string {
  if (refusals.length === 0) {
    return 'no nodes available to schedule pods';
  }
  const counts = new Map<string, number>();
  for (const reason of refusals.flat()) {
    counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  const reasons = [...counts].map(([reason, count]) => `${count} ${reason}`).toSorted();
  return filterFailureMessage(refusals.length, reasons.join(', '));
}

function noPreemption(nodeCount: number): string {
  return `preemption: 0/${nodeCount} nodes are available: ${nodeCount} Preemption is not helpful for scheduling.`;
}

function nameOf({ node }: NodeInfo): string {
  return node.metadata.name ?? '';
}
