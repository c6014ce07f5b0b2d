import type { Stored } from '../../../src/kubernetes/object.ts';
import { type EventRecorder, involved } from '../../../src/kubernetes/controllers/event-recorder.ts';
import { Controller } from '../../../src/kubernetes/controllers/controller.ts';
import { timestamp } from '../../../src/kubernetes/timestamp.ts';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { Pod, PodCondition } from '../../../src/kubernetes/types/pod.ts';
import { persistentVolumeClaims, pods as podResource } from '../../../src/kubernetes/resources.ts';
import { type PersistentVolumeClaim, volumeAnnotations } from '../../../src/kubernetes/types/storage.ts';
import type { ControllerContext } from '../controller-context.ts';
import { patchSameVersion } from '../../../src/kubernetes/controllers/conditional-writes.ts';
import { keyOf } from '../../../src/kubernetes/controllers/informer.ts';
import { isTerminal, podClaims } from '../volumes/pod-claims.ts';
import { type VolumeLister, checkClaims } from './volume-binding.ts';
import { selectHost, filterFailureMessage } from './node-choice.ts';
import type { NodeInfo } from './node-info.ts';
import { type Amounts, podRequests } from '../../../src/kubernetes/types/usage.ts';

const schedulerName = 'default-scheduler';

type Context = ControllerContext<'claims' | 'classes' | 'nodes' | 'pods' | 'volumes'>;

/**
 * Assigns each pod to a node (kube-scheduler, reduced): filters as its default plugins do. If claims wait for
 * their first consumer, the node is set on the claims first, and the pod is bound after them. A pod that does
 * not fit gets the condition Unschedulable and an event, and is retried when nodes, claims, volumes or other
 * pods change.
 */
export class Scheduler extends Controller {
  readonly #informers: Context['informers'];
  readonly #api: Context['api'];
  readonly #clock: Context['clock'];
  readonly #recorder: EventRecorder;
  /** Nodes by the uids of pods that were just bound; the cache does not show these pods as bound yet. */
  readonly #assumed = new Map<string, string>();
  /**
   * Pods without a node, by key. They are few compared with all pods, and are searched at each change of a
   * volume or claim.
   */
  readonly #waiting = new Map<string, Pod>();
  readonly #requestsOf = cachedRequests();
  readonly #volumes: VolumeLister;

  constructor(context: Context) {
    super('scheduler', context);
    this.#informers = context.informers;
    this.#api = context.api;
    this.#clock = context.clock;
    const { informers } = context;
    this.#recorder = context.recorder(schedulerName);
    this.#volumes = {
      claim: (key) => informers.claims.get(key),
      volume: (name) => informers.volumes.get(name),
      storageClass: (name) => informers.classes.get(name),
    };

    informers.pods.onChange(({ key, before, after }) => {
      const uid = (after ?? before)?.metadata.uid ?? '';
      if (after === undefined || isAssigned(after)) {
        this.#assumed.delete(uid);
      }
      if (after !== undefined && isWaiting(after)) {
        this.#waiting.set(key, after);
        if (before?.metadata.uid !== uid || !isWaiting(before)) {
          this.queue.add(key);
        }
        return;
      }
      this.#waiting.delete(key);
      if (after === undefined || isTerminal(after)) {
        this.#enqueuePending();
      }
    });

    informers.nodes.onChange(() => this.#enqueuePending());

    informers.volumes.onChange(() => this.#enqueuePending());

    informers.classes.onChange(() => this.#enqueuePending());

    informers.claims.onChange(({ key }) => {
      for (const pod of this.#waiting.values()) {
        const { namespace } = pod.metadata;
        if (podClaims(pod).some(({ name }) => `${namespace}/${name}` === key)) {
          this.queue.add(keyOf(pod));
        }
      }
    });
  }

  /** Pods with a higher priority are queued first; no running pod is ended for them (no preemption). */
  #enqueuePending(): void {
    const inOrder = [...this.#waiting.values()].toSorted((one, other) => priorityOf(other) - priorityOf(one));
    for (const pod of inOrder) this.queue.add(keyOf(pod));
  }

  protected override async reconcile(key: string): Promise<void> {
    const pod = this.#informers.pods.get(key);
    if (pod === undefined || !isWaiting(pod) || this.#assumed.has(pod.metadata.uid)) {
      return;
    }
    const claims = checkClaims(pod, this.#volumes);
    const nodes = this.#nodeInfos();
    if (claims.refusal !== undefined) {
      await this.#markUnschedulable(pod, filterFailureMessage(nodes.length, claims.refusal));
      return;
    }
    const { volumes, unbound, selectedNodes, exclusive } = claims;
    const choice = selectHost({
      pod,
      volumes,
      selectedNodes,
      exclusive,
      nodes,
      requestsOf: this.#requestsOf,
    });
    if (choice.node === undefined) {
      await this.#markUnschedulable(pod, choice.message);
      return;
    }
    const nodeName = choice.node.metadata.name;
    if (unbound.length > 0) {
      await this.#selectNode(unbound, nodeName);
      return;
    }
    await this.#bind(pod, nodeName);
  }

  #nodeInfos(): NodeInfo[] {
    const pods = this.#informers.pods.list();
    const byNode = Map.groupBy(
      pods.filter((pod) => !isTerminal(pod)),
      (pod) => pod.spec.nodeName ?? this.#assumed.get(pod.metadata.uid),
    );
    return this.#informers.nodes
      .list()
      .map((node) => ({ node, podsOnNode: byNode.get(node.metadata.name) ?? [] }));
  }

  /** Sets the selected node for the provisioner. The pod is queued again when the claims are bound. */
  async #selectNode(claims: readonly PersistentVolumeClaim[], nodeName: string): Promise<void> {
    for (const claim of claims) {
      if (claim.metadata.annotations?.[volumeAnnotations.selectedNode] === undefined) {
        const annotations = { [volumeAnnotations.selectedNode]: nodeName };
        await patchSameVersion(this.#api, persistentVolumeClaims, claim, { metadata: { annotations } });
      }
    }
  }

  async #bind(pod: Stored<Pod>, nodeName: string): Promise<void> {
    const { namespace, name, uid } = pod.metadata;
    this.#assumed.set(uid, nodeName);
    try {
      await this.#api.bindPod(namespace, name, nodeName);
    } catch (error) {
      this.#assumed.delete(uid);
      if (isApiError(error, 404)) {
        return;
      }
      throw error;
    }
    this.#recorder.record(involved('Pod', pod), {
      type: 'Normal',
      reason: 'Scheduled',
      message: `Successfully assigned ${namespace}/${name} to ${nodeName}`,
    });
  }

  async #markUnschedulable(pod: Pod, message: string): Promise<void> {
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
      lastTransitionTime: timestamp(this.#clock.now()),
    };
    const others = (pod.status?.conditions ?? []).filter(({ type }) => type !== 'PodScheduled');
    await patchSameVersion(
      this.#api,
      podResource,
      pod,
      { status: { conditions: [...others, condition] } },
      'status',
    );
    this.#recorder.record(involved('Pod', pod), { type: 'Warning', reason: 'FailedScheduling', message });
  }
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
