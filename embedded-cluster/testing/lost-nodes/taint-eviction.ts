import type { Stored } from '../../../src/kubernetes/object.ts';
import { type EventRecorder, involved } from '../../../src/kubernetes/controllers/event-recorder.ts';
import { Controller } from '../../../src/kubernetes/controllers/controller.ts';
import { timestamp } from '../../../src/kubernetes/timestamp.ts';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { Taint } from '../../../src/kubernetes/types/node.ts';
import type { Pod, Toleration, PodStatus } from '../../../src/kubernetes/types/pod.ts';
import { pods as podResource } from '../../../src/kubernetes/resources.ts';
import type { ControllerContext } from '../../controllers/controller-context.ts';
import { keyOf } from '../../../src/kubernetes/controllers/informer.ts';
import { isTerminal } from '../../controllers/volumes/pod-claims.ts';
import { tolerates } from '../../controllers/scheduling/node-filter.ts';

type Context = ControllerContext<'nodes' | 'pods'>;

/**
 * Deletes the pods that do not, or no longer, tolerate a taint NoExecute of their node
 * (pkg/controller/tainteviction).
 */
export class TaintEviction extends Controller {
  readonly #informers: Context['informers'];
  readonly #clock: Context['clock'];
  readonly #api: Context['api'];
  readonly #recorder: EventRecorder;
  readonly #firstSeen = new Map<string, string>();

  constructor(context: Context) {
    super('taint-eviction', context);
    this.#informers = context.informers;
    this.#clock = context.clock;
    this.#api = context.api;
    const { informers } = context;
    this.#recorder = context.recorder('taint-eviction-controller');

    informers.pods.onChange(({ key, after }) => {
      if (after !== undefined && this.#taintsOf(after).length > 0) this.queue.add(key);
    });

    informers.nodes.onChange(({ key, after }) => {
      const taints = after?.spec?.taints ?? [];
      for (const seen of this.#firstSeen.keys()) {
        const [node, taint] = seen.split(' ');
        if (node === key && !taints.some((one) => one.key === taint)) this.#firstSeen.delete(seen);
      }
      if (!taints.some(({ effect }) => effect === 'NoExecute')) return;
      for (const pod of informers.pods.list()) {
        if (pod.spec.nodeName === key) this.queue.add(keyOf(pod));
      }
    });
  }

  /**
   * A taint that a user added without a time counts from when this controller first saw it. That time is not
   * cut to seconds, because a pod would be evicted up to a second too early.
   */
  #taintsOf(pod: Pod): readonly Taint[] {
    const node = pod.spec.nodeName ?? '';
    const taints = this.#informers.nodes.get(node)?.spec?.taints ?? [];
    return taints.map((taint) => {
      if (taint.timeAdded !== undefined) return taint;
      const key = `${node} ${taint.key}`;
      const timeAdded = this.#firstSeen.get(key) ?? new Date(this.#clock.now()).toISOString();
      this.#firstSeen.set(key, timeAdded);
      return { ...taint, timeAdded };
    });
  }

  protected override async reconcile(key: string): Promise<void> {
    const pod = this.#informers.pods.get(key);
    if (pod === undefined || isTerminal(pod) || pod.metadata.deletionTimestamp !== undefined) return;
    const now = this.#clock.now();
    const end = evictionTime(pod.spec.tolerations ?? [], this.#taintsOf(pod), now);
    if (end === undefined) return;
    if (end > now) {
      this.queue.addAfter(key, end - now);
      return;
    }
    await this.#evict(pod);
  }

  async #evict(pod: Stored<Pod>): Promise<void> {
    const { namespace, name, uid } = pod.metadata;
    const reference = { resource: podResource, namespace, name };
    const status = withDisruptionTarget(pod, this.#clock.now(), {
      reason: 'DeletionByTaintManager',
      message: 'Taint manager: deleting due to NoExecute taint',
    });
    try {
      await this.#api.patch(reference, { metadata: { uid }, status }, { subresource: 'status' });
      await this.#api.delete(reference, { preconditions: { uid } });
    } catch (error) {
      if (isApiError(error, 404)) return;
      throw error;
    }
    this.#recorder.record(involved('Pod', pod), {
      type: 'Normal',
      reason: 'TaintManagerEviction',
      message: `Marking for deletion Pod ${namespace}/${name}`,
    });
  }
}

/**
 * Returns when a pod must leave a node because of taints NoExecute: milliseconds since the epoch, or
 * undefined for never. Each taint counts from the time when it was added; the earliest time applies
 * (pkg/controller/tainteviction, getMinTolerationTime). Pure.
 */
export function evictionTime(
  tolerations: readonly Toleration[],
  taints: readonly Taint[],
  now: number,
): number | undefined {
  const ends = taints
    .filter(({ effect }) => effect === 'NoExecute')
    .flatMap((taint) => tolerationEnd(tolerations, taint, now));
  return ends.length === 0 ? undefined : Math.min(...ends);
}

function tolerationEnd(tolerations: readonly Toleration[], taint: Taint, now: number): number[] {
  const covering = tolerations.filter((toleration) => tolerates([toleration], taint));
  if (covering.length === 0) return [now];
  const seconds = covering.flatMap(({ tolerationSeconds }) => tolerationSeconds ?? []);
  const since = Date.parse(taint.timeAdded ?? '');
  return seconds.map((each) => (Number.isNaN(since) ? now : since) + Math.max(0, each) * 1000);
}

/**
 * Returns the status of a pod with the reason why the control plane ends it (condition DisruptionTarget, KEP
 * 3329). `now` is in milliseconds. Pure.
 */
export function withDisruptionTarget(
  pod: Pod,
  now: number,
  why: { readonly reason: string; readonly message: string },
): Pick<PodStatus, 'conditions'> {
  const others = (pod.status?.conditions ?? []).filter(({ type }) => type !== 'DisruptionTarget');
  return {
    conditions: [
      ...others,
      { type: 'DisruptionTarget', status: 'True', ...why, lastTransitionTime: timestamp(now) },
    ],
  };
}
