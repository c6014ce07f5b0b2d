import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { Node } from '../../../src/kubernetes/types/node.ts';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { nodes as nodeResource, pods as podResource } from '../../../src/kubernetes/resources.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import { keyOf } from '../runtime/informer.ts';
import { WorkQueue } from '../runtime/work-queue.ts';
import { isTerminal } from '../volumes/pod-claims.ts';
import { withDisruptionTarget } from './disruption.ts';
import { readiness } from './node-health.ts';

const outOfService = 'node.kubernetes.io/out-of-service';

/**
 * Force-deletes the pods that no kubelet will ever end (pkg/controller/podgc): those of a deleted node, after
 * a quarantine, and the terminating ones of a node that is not ready and has the taint out-of-service.
 */
export function createPodCollector(context: ControllerContext): WorkQueue {
  const { api, clock, informers, nodeTimings } = context;
  const queue = new WorkQueue('pod-garbage-collector', reconcile, context);
  const firstMissed = new Map<string, number>();

  informers.pods.onChange(({ key, after }) => {
    if (after?.spec.nodeName !== undefined && mayBeOrphan(after)) queue.add(key);
  });
  informers.nodes.onChange(({ key, after }) => {
    if (after !== undefined) firstMissed.delete(key);
    if (after !== undefined && !isOutOfService(after)) return;
    for (const pod of informers.pods.list()) {
      if (pod.spec.nodeName === key) queue.add(keyOf(pod));
    }
  });

  function mayBeOrphan(pod: Pod): boolean {
    const node = informers.nodes.get(pod.spec.nodeName ?? '');
    return node === undefined || (pod.metadata.deletionTimestamp !== undefined && isOutOfService(node));
  }

  async function reconcile(key: string): Promise<void> {
    const pod = informers.pods.get(key);
    const nodeName = pod?.spec.nodeName;
    if (pod === undefined || nodeName === undefined || !mayBeOrphan(pod)) return;
    if (informers.nodes.get(nodeName) !== undefined) {
      await remove(pod, `terminating pod on an out-of-service node`);
      return;
    }
    const since = firstMissed.get(nodeName) ?? clock.now();
    firstMissed.set(nodeName, since);
    const left = since + nodeTimings.quarantine - clock.now();
    if (left > 0) queue.addAfter(key, left);
    else if (await isGone(nodeName)) await remove(pod, 'node no longer exists');
  }

  /** Reads from the API server, not the cache: the cache may lack a node that has just been created again. */
  async function isGone(name: string): Promise<boolean> {
    try {
      await api.get<Node>({ resource: nodeResource, name });
      return false;
    } catch (error) {
      if (isApiError(error, 404)) return true;
      throw error;
    }
  }

  async function remove(pod: Pod, why: string): Promise<void> {
    const { namespace = '', name = '', uid = '' } = pod.metadata;
    const reference = { resource: podResource, namespace, name };
    const reason = { reason: 'DeletionByPodGC', message: `PodGC: ${why}` };
    const status = { ...withDisruptionTarget(pod, clock.now(), reason), phase: 'Failed' };
    try {
      if (!isTerminal(pod)) {
        await api.patch(reference, { metadata: { uid }, status }, { subresource: 'status' });
      }
      await api.delete(reference, { gracePeriodSeconds: 0, preconditions: { uid } });
    } catch (error) {
      if (!isApiError(error, 404)) throw error;
    }
  }

  return queue;
}

function isOutOfService(node: Node): boolean {
  return readiness(node) !== 'True' && (node.spec?.taints ?? []).some(({ key }) => key === outOfService);
}
