import type { Node } from '../../../src/kubernetes/types/node.ts';
import type { Pod, TopologySpreadConstraint } from '../../../src/kubernetes/types/pod.ts';
import type { NodeInfo } from './fit-question.ts';
import { matchesNodeOf } from './node-affinity.ts';
import { matchesLabelSelector } from './selector.ts';

/** Numbers of pods that the constraint selects, by the value of its node label. */
type Counts = ReadonlyMap<string, number>;

/**
 * Returns why a node would exceed the maximum skew of a constraint; undefined if it would not (scheduler
 * plugin PodTopologySpread, filtering.go). Pure.
 */
export function spreadRefusal(pod: Pod, node: Node, nodes: readonly NodeInfo[]): string | undefined {
  const hard = constraintsOf(pod, 'DoNotSchedule');
  for (const constraint of hard) {
    const domain = node.metadata.labels?.[constraint.topologyKey];
    if (domain === undefined)
      return "node(s) didn't match pod topology spread constraints (missing required label)";
    const counts = countPods(pod, constraint, hard, nodes);
    const here = (counts.get(domain) ?? 0) + (matches(constraint, pod) ? 1 : 0);
    if (here - minCount(counts, constraint.minDomains) > constraint.maxSkew)
      return "node(s) didn't match pod topology spread constraints";
  }
  return undefined;
}

/**
 * Returns a function that scores nodes by the soft constraints: the number of matching pods in a node's
 * domains; less is better (scoring.go). Pure.
 */
export function spreadScore(pod: Pod, nodes: readonly NodeInfo[]): (node: Node) => number {
  const soft = constraintsOf(pod, 'ScheduleAnyway');
  // The pods are counted once, not for each node.
  const counted = soft.map((constraint) => ({
    ...constraint,
    counts: countPods(pod, constraint, soft, nodes),
  }));
  return (node) =>
    counted.reduce((sum, { topologyKey, maxSkew, counts }) => {
      const domain = node.metadata.labels?.[topologyKey];
      // A label with many values has a higher weight, so that spreading over zones does not outweigh
      // spreading over nodes.
      const weight = Math.log(counts.size + 2);
      return domain === undefined ? sum : sum + (counts.get(domain) ?? 0) * weight + maxSkew - 1;
    }, 0);
}

/** Returns true if the node lacks the label of a soft constraint: such a node is ranked last. */
export function lacksSpreadLabel(pod: Pod, node: Node): boolean {
  return constraintsOf(pod, 'ScheduleAnyway').some(
    ({ topologyKey }) => node.metadata.labels?.[topologyKey] === undefined,
  );
}

function constraintsOf(
  pod: Pod,
  action: TopologySpreadConstraint['whenUnsatisfiable'],
): TopologySpreadConstraint[] {
  return (pod.spec.topologySpreadConstraints ?? []).filter(
    ({ whenUnsatisfiable }) => whenUnsatisfiable === action,
  );
}

/**
 * Counts pods on nodes that the pod's node selector and affinity allow and that have the labels of all
 * constraints.
 */
function countPods(
  pod: Pod,
  constraint: TopologySpreadConstraint,
  all: readonly TopologySpreadConstraint[],
  nodes: readonly NodeInfo[],
): Counts {
  const counts = new Map<string, number>();
  for (const { node, podsOnNode } of nodes) {
    const labels = node.metadata.labels ?? {};
    const domain = labels[constraint.topologyKey];
    const counted =
      all.every(({ topologyKey }) => labels[topologyKey] !== undefined) && matchesNodeOf(pod, node);
    if (domain === undefined || !counted) continue;
    const here = podsOnNode.filter(
      (other) =>
        other.metadata.namespace === pod.metadata.namespace &&
        other.metadata.deletionTimestamp === undefined &&
        matches(constraint, other),
    );
    counts.set(domain, (counts.get(domain) ?? 0) + here.length);
  }
  return counts;
}

/** If there are fewer domains than `minDomains`, the global minimum is 0. */
function minCount(counts: Counts, minDomains = 1): number {
  return counts.size < minDomains ? 0 : Math.min(...counts.values());
}

function matches({ labelSelector }: TopologySpreadConstraint, pod: Pod): boolean {
  return labelSelector !== undefined && matchesLabelSelector(labelSelector, pod.metadata.labels ?? {});
}
