import { isApiError } from '../../../kubernetes/api-error.ts';
import type { Pod, PodCondition } from '../../../kubernetes/pod.ts';
import { persistentVolumeClaims, pods as podResource } from '../../../kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../../kubernetes/volume.ts';
import { volumeAnnotations } from '../../../kubernetes/volume.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import { timestamp } from '../runtime/event-recorder.ts';
import { patchIfUnchanged } from '../runtime/finalizers.ts';
import { keyOf } from '../runtime/informer.ts';
import { WorkQueue } from '../runtime/work-queue.ts';
import { isTerminal, podClaims } from '../volumes/pod-claims.ts';
import type { VolumeLister } from './claims-question.ts';
import { checkClaims } from './claims-question.ts';
import { selectHost, filterFailureMessage } from './node-choice.ts';
import type { NodeInfo } from './fit-question.ts';
import type { Amounts } from '../../../kubernetes/pod-requests.ts';
import { podRequests } from '../../../kubernetes/pod-requests.ts';

const schedulerName = 'default-scheduler';

/**
 * Gives each pod a node (kube-scheduler, thin): filters as its default plugins have them, claims that wait
 * for their first consumer get the node first and the pod follows once they are bound. What does not fit has
 * the condition Unschedulable and an event, and is looked at again when nodes, claims, volumes or other pods
 * change.
 */
export function createScheduler(context: ControllerContext): WorkQueue {
  const { api, informers } = context;
  const recorder = context.recorder(schedulerName);
  const queue = new WorkQueue('scheduler', reconcile, context);
  /** Pods by uid that were bound a moment ago, which the copy does not show yet. */
  const assumed = new Map<string, string>();
  /**
   * Pods by key that have no node yet: few beside all pods, and looked through at each change of a volume or
   * claim.
   */
  const waiting = new Map<string, Pod>();
  const requestsOf = cachedRequests();
  const sources: VolumeLister = {
    claim: (key) => informers.claims.get(key),
    volume: (name) => informers.volumes.get(name),
    storageClass: (name) => informers.classes.get(name),
  };

  informers.pods.onChange(({ key, before, after }) => {
    const uid = (after ?? before)?.metadata.uid ?? '';
    if (after === undefined || isAssigned(after)) {
      assumed.delete(uid);
    }
    if (after !== undefined && isWaiting(after)) {
      waiting.set(key, after);
      if (before?.metadata.uid !== uid || !isWaiting(before)) {
        queue.add(key);
      }
      return;
    }
    waiting.delete(key);
    if (after === undefined || isTerminal(after)) {
      enqueuePending();
    }
  });
  informers.nodes.onChange(enqueuePending);
  informers.volumes.onChange(enqueuePending);
  informers.classes.onChange(enqueuePending);
  informers.claims.onChange(({ key }) => {
    for (const pod of waiting.values()) {
      const { namespace = '' } = pod.metadata;
      if (podClaims(pod).some(({ name }) => `${namespace}/${name}` === key)) {
        queue.add(keyOf(pod));
      }
    }
  });

  /** The more important pod looks first; nothing that runs is ended for it (no preemption). */
  function enqueuePending(): void {
    const inOrder = [...waiting.values()].toSorted((one, other) => priorityOf(other) - priorityOf(one));
    for (const pod of inOrder) queue.add(keyOf(pod));
  }

  async function reconcile(key: string): Promise<void> {
    const pod = informers.pods.get(key);
    if (pod === undefined || !isWaiting(pod) || assumed.has(pod.metadata.uid ?? '')) {
      return;
    }
    const claims = checkClaims(pod, sources);
    const nodes = nodeInfos();
    if (claims.refusal !== undefined) {
      await markUnschedulable(pod, filterFailureMessage(nodes.length, claims.refusal));
      return;
    }
    const { volumes, unbound, selectedNodes, exclusive } = claims;
    const choice = selectHost({ pod, volumes, selectedNodes, exclusive, nodes, requestsOf });
    if (choice.node === undefined) {
      await markUnschedulable(pod, choice.message);
      return;
    }
    const nodeName = choice.node.metadata.name ?? '';
    if (unbound.length > 0) {
      await selectNode(unbound, nodeName);
      return;
    }
    await bind(pod, nodeName);
  }

  function nodeInfos(): NodeInfo[] {
    const pods = informers.pods.list();
    const byNode = Map.groupBy(
      pods.filter((pod) => !isTerminal(pod)),
      (pod) => pod.spec.nodeName ?? assumed.get(pod.metadata.uid ?? ''),
    );
    return informers.nodes.list().map((node) => ({ node, podsOnNode: byNode.get(node.metadata.name) ?? [] }));
  }

  /** Says to the provisioner where; the claims' binding brings the pod back. */
  async function selectNode(claims: readonly PersistentVolumeClaim[], nodeName: string): Promise<void> {
    for (const claim of claims) {
      if (claim.metadata.annotations?.[volumeAnnotations.selectedNode] === undefined) {
        const annotations = { [volumeAnnotations.selectedNode]: nodeName };
        await patchIfUnchanged(api, persistentVolumeClaims, claim, { metadata: { annotations } });
      }
    }
  }

  async function bind(pod: Pod, nodeName: string): Promise<void> {
    const { namespace = '', name = '', uid = '' } = pod.metadata;
    assumed.set(uid, nodeName);
    try {
      await api.bindPod(namespace, name, nodeName);
    } catch (error) {
      assumed.delete(uid);
      if (isApiError(error, 404)) {
        return;
      }
      throw error;
    }
    recorder.record(subject(pod), {
      type: 'Normal',
      reason: 'Scheduled',
      message: `Successfully assigned ${namespace}/${name} to ${nodeName}`,
    });
  }

  async function markUnschedulable(pod: Pod, message: string): Promise<void> {
    const before = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
    if (before?.status === 'False' && before.message === message) {
      return;
    }
    const condition: PodCondition = {
      type: 'PodScheduled',
      status: 'False',
      reason: 'Unschedulable',
      message,
      lastProbeTime: null,
      lastTransitionTime: timestamp(context.clock.now()),
    };
    const others = (pod.status?.conditions ?? []).filter(({ type }) => type !== 'PodScheduled');
    await patchIfUnchanged(
      api,
      podResource,
      pod,
      { status: { conditions: [...others, condition] } },
      'status',
    );
    recorder.record(subject(pod), { type: 'Warning', reason: 'FailedScheduling', message });
  }

  return queue;
}

const priorityOf = (pod: Pod): number => pod.spec.priority ?? 0;

/** Pods are not changed in place, so what one asks for is added up once. */
function cachedRequests(): (pod: Pod) => Amounts {
  const known = new WeakMap<Pod, Amounts>();
  return (pod) => {
    const amounts = known.get(pod) ?? podRequests(pod);
    known.set(pod, amounts);
    return amounts;
  };
}

function isAssigned(pod: Pod): boolean {
  return pod.spec.nodeName !== undefined && pod.spec.nodeName !== '';
}

/** A pod of ours that has no node yet, and no gate before it gets one. */
function isWaiting(pod: Pod): boolean {
  return (
    !isAssigned(pod) &&
    (pod.spec.schedulingGates ?? []).length === 0 &&
    !isTerminal(pod) &&
    pod.metadata.deletionTimestamp === undefined &&
    (pod.spec.schedulerName ?? schedulerName) === schedulerName
  );
}

function subject(pod: Pod): { kind: string; apiVersion: string; object: Pod } {
  return { kind: 'Pod', apiVersion: 'v1', object: pod };
}
