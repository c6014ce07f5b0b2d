import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { Taint } from '../../../src/kubernetes/types/node.ts';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { pods as podResource } from '../../../src/kubernetes/resources.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import { keyOf } from '../runtime/informer.ts';
import { WorkQueue } from '../runtime/work-queue.ts';
import { isTerminal } from '../volumes/pod-claims.ts';
import { withDisruptionTarget } from './disruption.ts';
import { evictionTime } from './eviction-time.ts';

/**
 * Deletes the pods that do not, or no longer, tolerate a taint NoExecute of their node
 * (pkg/controller/tainteviction).
 */
export function createTaintEviction(context: ControllerContext): WorkQueue {
  const { api, clock, informers } = context;
  const recorder = context.recorder('taint-eviction-controller');
  const queue = new WorkQueue('taint-eviction', reconcile, context);

  const firstSeen = new Map<string, string>();

  informers.pods.onChange(({ key, after }) => {
    if (after !== undefined && taintsOf(after).length > 0) queue.add(key);
  });
  informers.nodes.onChange(({ key, after }) => {
    const taints = after?.spec?.taints ?? [];
    for (const seen of firstSeen.keys()) {
      const [node, taint] = seen.split(' ');
      if (node === key && !taints.some((one) => one.key === taint)) firstSeen.delete(seen);
    }
    if (!taints.some(({ effect }) => effect === 'NoExecute')) return;
    for (const pod of informers.pods.list()) {
      if (pod.spec.nodeName === key) queue.add(keyOf(pod));
    }
  });

  /** A taint that a user added without a time counts from when this controller first saw it. */
  function taintsOf(pod: Pod): readonly Taint[] {
    const node = pod.spec.nodeName ?? '';
    const taints = informers.nodes.get(node)?.spec?.taints ?? [];
    return taints.map((taint) => {
      if (taint.timeAdded !== undefined) return taint;
      const key = `${node} ${taint.key}`;
      const timeAdded = firstSeen.get(key) ?? new Date(clock.now()).toISOString();
      firstSeen.set(key, timeAdded);
      return { ...taint, timeAdded };
    });
  }

  async function reconcile(key: string): Promise<void> {
    const pod = informers.pods.get(key);
    if (pod === undefined || isTerminal(pod) || pod.metadata.deletionTimestamp !== undefined) return;
    const now = clock.now();
    const end = evictionTime(pod.spec.tolerations ?? [], taintsOf(pod), now);
    if (end === undefined) return;
    if (end > now) {
      queue.addAfter(key, end - now);
      return;
    }
    await evict(pod);
  }

  async function evict(pod: Pod): Promise<void> {
    const { namespace = '', name = '', uid = '' } = pod.metadata;
    const reference = { resource: podResource, namespace, name };
    const status = withDisruptionTarget(pod, clock.now(), {
      reason: 'DeletionByTaintManager',
      message: 'Taint manager: deleting due to NoExecute taint',
    });
    try {
      await api.patch(reference, { metadata: { uid }, status }, { subresource: 'status' });
      await api.delete(reference, { preconditions: { uid } });
    } catch (error) {
      if (isApiError(error, 404)) return;
      throw error;
    }
    recorder.record(
      { kind: 'Pod', apiVersion: 'v1', object: pod },
      {
        type: 'Normal',
        reason: 'TaintManagerEviction',
        message: `Marking for deletion Pod ${namespace}/${name}`,
      },
    );
  }

  return queue;
}
