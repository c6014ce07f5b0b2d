import { isDeepStrictEqual } from 'node:util';
import { nodeLeaseNamespace, type Node } from '../../../src/kubernetes/types/node.ts';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { nodes as nodeResource, pods as podResource } from '../../../src/kubernetes/resources.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import { timestamp } from '../runtime/event-recorder.ts';
import { patchIfUnchanged } from '../runtime/finalizers.ts';
import { WorkQueue } from '../runtime/work-queue.ts';
import { lastHeartbeat, readiness, unknownConditions, desiredTaints } from './node-health.ts';

/**
 * Marks a node as unknown when it is unresponsive, and taints it by its conditions (kubernetes:
 * pkg/controller/nodelifecycle, reduced: no rate limits, no zones). A node is monitored from its first Lease
 * on. The grace period counts from when this controller last saw the Lease change, so that clocks of two
 * machines are never compared.
 */
export function createNodeLifecycle(context: ControllerContext): WorkQueue {
  const { api, clock, informers, nodeTimings } = context;
  const recorder = context.recorder('node-controller');
  const queue = new WorkQueue('node-lifecycle', reconcile, context);
  const heard = new Map<string, { readonly word: string; readonly at: number }>();

  informers.nodes.onChange(({ key, after }) => {
    if (after === undefined) heard.delete(key);
    queue.add(key);
  });
  informers.leases.onChange(({ after }) => {
    const { namespace, name = '' } = after?.metadata ?? {};
    if (namespace === nodeLeaseNamespace) queue.add(name);
  });

  async function reconcile(name: string): Promise<void> {
    const node = informers.nodes.get(name);
    if (node === undefined) return;
    const isKnownSilent = readiness(node) === 'Unknown';
    if (isUnresponsive(node) && !isKnownSilent) {
      // This change of the node adds it to the queue again.
      await markUnknown(node);
      return;
    }
    await taint(node);
    if (isKnownSilent || readiness(node) === 'False') await markPods(name);
  }

  /** A renewed Lease or a status update counts as a heartbeat. */
  function isUnresponsive(node: Node): boolean {
    const { name = '' } = node.metadata;
    const lease = informers.leases.get(`${nodeLeaseNamespace}/${name}`);
    if (lease === undefined) return false;
    const word = `${lease.spec?.renewTime ?? ''} ${lastHeartbeat(node) ?? ''}`;
    const last = heard.get(name);
    if (last?.word !== word) {
      heard.set(name, { word, at: clock.now() });
      queue.addAfter(name, nodeTimings.grace);
      return false;
    }
    const left = last.at + nodeTimings.grace - clock.now();
    if (left > 0) queue.addAfter(name, left);
    return left <= 0;
  }

  async function markUnknown(node: Node): Promise<void> {
    const now = timestamp(clock.now());
    await patchIfUnchanged(
      api,
      nodeResource,
      node,
      { status: { conditions: unknownConditions(node, now) } },
      'status',
    );
    recorder.record(
      { kind: 'Node', apiVersion: 'v1', object: node },
      {
        type: 'Normal',
        reason: 'NodeNotReady',
        message: `Node ${node.metadata.name ?? ''} status is now: NodeNotReady`,
      },
    );
  }

  async function taint(node: Node): Promise<void> {
    const present = node.spec?.taints ?? [];
    const taints = desiredTaints(node, timestamp(clock.now()));
    if (isDeepStrictEqual(new Set(taints), new Set(present))) return;
    await patchIfUnchanged(api, nodeResource, node, { spec: { taints } });
  }

  /** Sets the pods of such a node to not ready, because their state is unknown (MarkPodsNotReady). */
  async function markPods(nodeName: string): Promise<void> {
    for (const pod of informers.pods.list()) {
      if (pod.spec.nodeName === nodeName && isReady(pod)) await markUnready(pod);
    }
  }

  async function markUnready(pod: Pod): Promise<void> {
    const conditions = (pod.status?.conditions ?? []).map((condition) =>
      condition.type === 'Ready'
        ? {
            ...condition,
            status: 'False' as const,
            reason: 'NodeNotReady',
            lastTransitionTime: timestamp(clock.now()),
          }
        : condition,
    );
    await patchIfUnchanged(api, podResource, pod, { status: { conditions } }, 'status');
  }

  return queue;
}

const isReady = (pod: Pod): boolean =>
  pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
