import type { Node } from '../../../src/kubernetes/types/node.ts';
import type { Pod, PodAffinityTerm } from '../../../src/kubernetes/types/pod.ts';
import type { NodeInfo } from './node-info.ts';
import { matchesLabelSelector } from './node-affinity.ts';

/**
 * Returns why required affinity or anti-affinity between pods excludes a node; undefined if it does not
 * (scheduler plugin InterPodAffinity). Pure.
 */
export function podAffinityRefusal(pod: Pod, node: Node, nodes: readonly NodeInfo[]): string | undefined {
  const { podAffinity, podAntiAffinity } = pod.spec.affinity ?? {};
  const requested = podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  const unwanted = podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? [];
  if (!requested.every((term) => satisfies(pod, term, node, nodes))) {
    return "node(s) didn't match pod affinity rules";
  }
  if (unwanted.some((term) => matchingPods(pod, term, node, nodes) > 0)) {
    return "node(s) didn't match pod anti-affinity rules";
  }
  return violatesExistingAntiAffinity(pod, node, nodes)
    ? "node(s) didn't satisfy existing pods anti-affinity rules"
    : undefined;
}

/** Returns the number of pods in the node's topology domain that a term selects. */
function matchingPods(pod: Pod, term: PodAffinityTerm, node: Node, nodes: readonly NodeInfo[]): number {
  return domainOf(node, term.topologyKey, nodes)
    .flatMap(({ podsOnNode }) => podsOnNode)
    .filter((other) => selects(term, pod, other)).length;
}

/**
 * Returns the score of a node by the pod's preferences about other pods: preferred affinity counts for the
 * node, preferred anti-affinity against it.
 */
export function preferredTerms(pod: Pod, node: Node, nodes: readonly NodeInfo[]): number {
  const { podAffinity, podAntiAffinity } = pod.spec.affinity ?? {};
  const weigh = (affinity: typeof podAffinity): number =>
    (affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).reduce(
      (sum, { weight, podAffinityTerm }) => sum + weight * matchingPods(pod, podAffinityTerm, node, nodes),
      0,
    );
  return weigh(podAffinity) - weigh(podAntiAffinity);
}

/**
 * If a pod's required affinity selects the pod itself and no other pod matches, the pod may go to any node
 * with the topology key (kube-scheduler, InterPodAffinity).
 */
function satisfies(pod: Pod, term: PodAffinityTerm, node: Node, nodes: readonly NodeInfo[]): boolean {
  if (matchingPods(pod, term, node, nodes) > 0) {
    return true;
  }
  const hasTopology = node.metadata.labels?.[term.topologyKey] !== undefined;
  const matchesNoPod = nodes.every(
    ({ podsOnNode }) => !podsOnNode.some((other) => selects(term, pod, other)),
  );
  return hasTopology && matchesNoPod && selects(term, pod, pod);
}

function violatesExistingAntiAffinity(pod: Pod, node: Node, nodes: readonly NodeInfo[]): boolean {
  return nodes.some((situation) =>
    situation.podsOnNode.some((other) =>
      (other.spec.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).some(
        (term) => selects(term, other, pod) && sameDomain(node, situation.node, term.topologyKey),
      ),
    ),
  );
}

/**
 * Returns true if a term of the pod `owner` selects `candidate`. A term without namespaces selects in the
 * owner's namespace.
 */
function selects(term: PodAffinityTerm, owner: Pod, candidate: Pod): boolean {
  const namespaces = term.namespaces ?? [owner.metadata.namespace];
  return (
    term.labelSelector !== undefined &&
    namespaces.includes(candidate.metadata.namespace) &&
    matchesLabelSelector(term.labelSelector, candidate.metadata.labels ?? {})
  );
}

function domainOf(node: Node, topologyKey: string, nodes: readonly NodeInfo[]): NodeInfo[] {
  return nodes.filter((other) => sameDomain(node, other.node, topologyKey));
}

function sameDomain(one: Node, other: Node, topologyKey: string): boolean {
  const domain = one.metadata.labels?.[topologyKey];
  return domain !== undefined && domain === other.metadata.labels?.[topologyKey];
}
