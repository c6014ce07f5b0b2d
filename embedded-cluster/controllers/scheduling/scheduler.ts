import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { Pod, PodCondition } from '../../../src/kubernetes/types/pod.ts';
import { persistentVolumeClaims, pods as podResource } from '../../../src/kubernetes/resources.ts';
import { type PersistentVolumeClaim, volumeAnnotations } from '../../../src/kubernetes/types/storage.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import { timestamp } from '../runtime/event-recorder.ts';
import { patchIfUnchanged } from '../runtime/finalizers.ts';
import { keyOf } from '../runtime/informer.ts';
import { WorkQueue } from '../runtime/work-queue.ts';
import { isTerminal, podClaims } from '../volumes/pod-claims.ts';
import { type VolumeLister, checkClaims } from './claims-question.ts';
import { selectHost, filterFailureMessage } from './node-choice.ts';
import type { NodeInfo } from './fit-question.ts';
import { type Amounts, podRequests } from '../../../src/kubernetes/types/usage.ts';

const schedulerName = 'default-scheduler';

/**
 * Assigns each pod to a node (kube-scheduler, reduced): filters as its default plugins do. If claims wait for
 * their first consumer, the node is set on the claims first, and the pod is bound after them. A pod that does
 * not fit gets the condition Unschedulable and an event, and is retried when nodes, claims, volumes or other
 * pods change.
 */
export function createScheduler(context: ControllerContext): WorkQueue {
  const { api, informers } = context;
  const recorder = context.recorder(schedulerName);
  const queue = new WorkQueue('scheduler', reconcile, context);
  /** Nodes by the uids of pods that were just bound; the cache does not show these pods as bound yet. */
  const assumed = new Map<string, string>();
  /**
   * Pods without a node, by key. They are few compared with all pods, and are searched at each change of a
   * volume or claim.
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

  /** Pods with a higher priority are queued first; no running pod is ended for them (no preemption). */
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

  /** Sets the selected node for the provisioner. The pod is queued again when the claims are bound. */
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

/** Caches the requests of pods. Pods are never changed in place, so their sums are computed once. */
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

/** Returns true if this scheduler is to assign the pod: it has neither a node nor a scheduling gate. */
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
