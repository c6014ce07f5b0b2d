import type { Node } from '../../../src/kubernetes/types/node.ts';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { preferredWeight } from './node-affinity.ts';
import type { FilterInput, NodeInfo } from './fit-question.ts';
import { tolerates } from './node-fit.ts';
import { preferredTerms } from './pod-affinity.ts';
import { lacksSpreadLabel, spreadScore } from './topology-spread.ts';

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
  const [most, least] = [Math.max(...known), Math.min(...known)];
  return judged.map((crowd) =>
    crowd === undefined ? 0 : most === 0 ? 100 : (100 * (most + least - crowd)) / most,
  );
}

function scaled(scores: readonly number[]): number[] {
  const most = Math.max(...scores);
  return scores.map((score) => (most === 0 ? 0 : (100 * score) / most));
}

function inverted(scores: readonly number[]): number[] {
  return scaled(scores).map((score) => 100 - score);
}

/** Scales scores, which may be negative, so that the lowest is 0 and the highest 100. */
function stretched(scores: readonly number[]): number[] {
  const [most, least] = [Math.max(...scores), Math.min(...scores)];
  return scores.map((score) => (most === least ? 0 : (100 * (score - least)) / (most - least)));
}
