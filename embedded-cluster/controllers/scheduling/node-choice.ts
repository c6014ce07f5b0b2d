import type { Node } from '../../../src/kubernetes/types/node.ts';
import type { FilterInput, NodeInfo } from './node-info.ts';
import { filterNode, tolerates } from './node-filter.ts';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { preferredWeight } from './node-affinity.ts';
import { preferredTerms } from './pod-affinity.ts';
import { lacksSpreadLabel, spreadScore } from './topology-spread.ts';

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
  return node.metadata.name;
}

/**
 * Returns the node scores for a pod, 0 to 900: each plugin's score is normalized to 0..100 and weighted as
 * kube-scheduler does by default (apis/config/v1/default_plugins.go; NormalizeScore of the plugins). Pure.
 */
export function scoreNodes({ pod, nodes }: FilterInput, fitting: readonly NodeInfo[]): number[] {
  const score = (of: (node: Node) => number): number[] => fitting.map(({ node }) => of(node));
  const parts: [number, number[]][] = [
    [3, inverted(score((node) => untoleratedPreferNoSchedule(pod, node)))],
    [2, scaled(score((node) => preferredWeight(pod, node)))],
    [2, spreadScores(pod, fitting, nodes)],
    [2, stretched(score((node) => preferredTerms(pod, node, nodes)))],
  ];
  return fitting.map((_, index) =>
    parts.reduce((sum, [weight, scores]) => sum + weight * (scores[index] ?? 0), 0),
  );
}

function untoleratedPreferNoSchedule(pod: Pod, node: Node): number {
  return (node.spec?.taints ?? []).filter(
    (taint) => taint.effect === 'PreferNoSchedule' && !tolerates(pod.spec.tolerations ?? [], taint),
  ).length;
}

function spreadScores(pod: Pod, fitting: readonly NodeInfo[], nodes: readonly NodeInfo[]): number[] {
  const crowdOf = spreadScore(pod, nodes);
  const judged = fitting.map(({ node }) => (lacksSpreadLabel(pod, node) ? undefined : crowdOf(node)));
  const known = judged.filter((crowd) => crowd !== undefined);
  const [max, least] = [Math.max(...known), Math.min(...known)];
  return judged.map((crowd) =>
    crowd === undefined ? 0 : max === 0 ? 100 : (100 * (max + least - crowd)) / max,
  );
}

function scaled(scores: readonly number[]): number[] {
  const highest = Math.max(...scores);
  return scores.map((score) => (highest === 0 ? 0 : (100 * score) / highest));
}

function inverted(scores: readonly number[]): number[] {
  return scaled(scores).map((score) => 100 - score);
}

/** Scales scores, which may be negative, so that the lowest is 0 and the highest 100. */
function stretched(scores: readonly number[]): number[] {
  const [max, least] = [Math.max(...scores), Math.min(...scores)];
  return scores.map((score) => (max === least ? 0 : (100 * (score - least)) / (max - least)));
}
