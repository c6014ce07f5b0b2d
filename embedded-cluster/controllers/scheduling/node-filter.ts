import type { Node, Taint } from '../../../src/kubernetes/types/node.ts';
import type { Pod, Toleration } from '../../../src/kubernetes/types/pod.ts';
import type { FilterInput, NodeInfo } from './node-info.ts';
import { matchesNodeOf, matchesNodeTerms } from './node-affinity.ts';
import { podAffinityRefusal } from './pod-affinity.ts';
import { addAmounts, missingResources, podRequests } from '../../../src/kubernetes/types/usage.ts';
import { podClaims } from '../volumes/pod-claims.ts';
import { spreadRefusal } from './topology-spread.ts';

/**
 * Returns the reasons why a pod does not fit a node, with the messages of the scheduler's plugins; empty if
 * it fits. Pure.
 */
export function filterNode(question: FilterInput, situation: NodeInfo): string[] {
  const { pod } = question;
  const { node, podsOnNode } = situation;
  // The scheduler stops at the first plugin that rejects the node; only missing resources are listed
  // together.
  const first =
    cordonRefusal(pod, node) ??
    taintRefusal(pod, node) ??
    affinityRefusal(pod, node) ??
    volumeRefusal(question, node) ??
    portRefusal(pod, podsOnNode) ??
    exclusiveRefusal(question) ??
    spreadRefusal(pod, node, question.nodes) ??
    podAffinityRefusal(pod, node, question.nodes);
  return first === undefined ? resourceRefusals(question, situation) : [first];
}

/** Returns true if one of the tolerations covers the taint (api/core/v1/toleration.go, ToleratesTaint). */
export function tolerates(tolerations: readonly Toleration[], taint: Taint): boolean {
  return tolerations.some(
    ({ key = '', operator = 'Equal', value = '', effect }) =>
      (effect === undefined || effect === taint.effect) &&
      (key === taint.key || (key === '' && operator === 'Exists')) &&
      (operator === 'Exists' || value === (taint.value ?? '')),
  );
}

const cordonTaint: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

function cordonRefusal(pod: Pod, node: Node): string | undefined {
  return node.spec?.unschedulable === true && !tolerates(pod.spec.tolerations ?? [], cordonTaint)
    ? 'node(s) were unschedulable'
    : undefined;
}

function taintRefusal(pod: Pod, node: Node): string | undefined {
  const taint = node.spec?.taints?.find(
    (one) => one.effect !== 'PreferNoSchedule' && !tolerates(pod.spec.tolerations ?? [], one),
  );
  return taint === undefined
    ? undefined
    : `node(s) had untolerated taint {${taint.key}: ${taint.value ?? ''}}`;
}

function affinityRefusal(pod: Pod, node: Node): string | undefined {
  return matchesNodeOf(pod, node) ? undefined : "node(s) didn't match Pod's node affinity/selector";
}

function volumeRefusal({ volumes, selectedNodes }: FilterInput, node: Node): string | undefined {
  const name = node.metadata.name;
  const labels = node.metadata.labels ?? {};
  const misplaced = volumes.some((volume) => {
    const required = volume.spec.nodeAffinity?.required;
    return required !== undefined && !matchesNodeTerms(required.nodeSelectorTerms, { name, labels });
  });
  return misplaced || selectedNodes.some((selected) => selected !== name)
    ? "node(s) didn't match PersistentVolume's node affinity"
    : undefined;
}

/** Checks the same as the plugin VolumeRestrictions: the other pod may be on any node. */
function exclusiveRefusal({ pod, exclusive = [], nodes }: FilterInput): string | undefined {
  if (exclusive.length === 0) {
    return undefined;
  }
  const { namespace } = pod.metadata;
  const isTaken = nodes
    .flatMap(({ podsOnNode }) => podsOnNode)
    .some(
      (other) =>
        other.metadata.namespace === namespace &&
        podClaims(other).some(({ name }) => exclusive.includes(name)),
    );
  return isTaken
    ? 'node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode'
    : undefined;
}

function portRefusal(pod: Pod, podsOnNode: readonly Pod[]): string | undefined {
  const requested = hostPorts(pod);
  return requested.length > 0 &&
    podsOnNode.some((other) => hostPorts(other).some((port) => requested.includes(port)))
    ? "node(s) didn't have free ports for the requested pod ports"
    : undefined;
}

function hostPorts(pod: Pod): string[] {
  return pod.spec.containers.flatMap(({ ports = [] }) =>
    ports.flatMap(({ hostPort, protocol = 'TCP' }) =>
      hostPort === undefined || hostPort === 0 ? [] : [`${protocol}/${hostPort}`],
    ),
  );
}

function resourceRefusals(
  { pod, requestsOf = podRequests }: FilterInput,
  { node, podsOnNode }: NodeInfo,
): string[] {
  const allocatable = node.status?.allocatable ?? {};
  const podCapacity = allocatable['pods'];
  const full = podCapacity !== undefined && podsOnNode.length + 1 > Number(podCapacity);
  return [
    ...(full ? ['Too many pods'] : []),
    ...missingResources(requestsOf(pod), addAmounts(podsOnNode.map(requestsOf)), allocatable),
  ];
}
