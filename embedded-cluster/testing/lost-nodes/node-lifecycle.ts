import { involved } from '../../../src/kubernetes/controllers/event-recorder.ts';
import { timestamp } from '../../../src/kubernetes/timestamp.ts';
import { isDeepStrictEqual } from 'node:util';
import { nodeLeaseNamespace } from '../../../src/kubernetes/lease.ts';
import type { Node, Taint } from '../../../src/kubernetes/node.ts';
import type { Pod } from '../../../src/kubernetes/pod.ts';
import { nodes as nodeResource, pods as podResource } from '../../../src/kubernetes/resources.ts';
import type { ControllerContext } from '../../controllers/controller.ts';
import { patchIfUnchanged } from '../../../src/kubernetes/controllers/patch-if-unchanged.ts';
import { WorkQueue } from '../../../src/kubernetes/controllers/work-queue.ts';

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
    recorder.record(involved('Node', node), {
      type: 'Normal',
      reason: 'NodeNotReady',
      message: `Node ${node.metadata.name ?? ''} status is now: NodeNotReady`,
    });
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

/**
 * Times in milliseconds: the defaults of kube-controller-manager's flags, shorter in test suites that lose
 * nodes.
 */
export interface NodeTimings {
  /** A node is not ready if its Lease was not renewed for this long (--node-monitor-grace-period). */
  readonly grace: number;
  /** How long the pods of a deleted node wait for the node to be created again (podgc quarantineTime). */
  readonly quarantine: number;
}

export const defaultNodeTimings: NodeTimings = { grace: 50_000, quarantine: 40_000 };

type Condition = NonNullable<NonNullable<Node['status']>['conditions']>[number];

/** Returns the status of the condition Ready; undefined if no status was ever reported for the node. */
export function readiness(node: Node): string | undefined {
  return node.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
}

/** Returns the time of the node's last status report. */
export function lastHeartbeat(node: Node): string | undefined {
  return node.status?.conditions?.find(({ type }) => type === 'Ready')?.lastHeartbeatTime;
}

const heartbeatConditions = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];

/**
 * Returns the conditions of an unresponsive node (pkg/controller/nodelifecycle, tryUpdateNodeHealth). Pure.
 */
export function unknownConditions(node: Node, now: string): Condition[] {
  const reported = node.status?.conditions ?? [];
  const never = {
    ...{ type: 'Ready', status: 'Unknown', reason: 'NodeStatusNeverUpdated' },
    ...{ message: 'Kubelet never posted node status.', lastTransitionTime: now },
  };
  const known = reported.map((condition) =>
    heartbeatConditions.includes(condition.type) && condition.status !== 'Unknown'
      ? {
          ...condition,
          status: 'Unknown',
          reason: 'NodeStatusUnknown',
          message: 'Kubelet stopped posting node status.',
          lastTransitionTime: now,
        }
      : condition,
  );
  return readiness(node) === undefined ? [...known, never] : known;
}

const key = (name: string): string => `node.kubernetes.io/${name}`;
const pressures: Readonly<Record<string, string>> = {
  MemoryPressure: key('memory-pressure'),
  DiskPressure: key('disk-pressure'),
  PIDPressure: key('pid-pressure'),
  NetworkUnavailable: key('network-unavailable'),
};
const managedTaintKeys: readonly string[] = [
  key('not-ready'),
  key('unreachable'),
  key('unschedulable'),
  ...Object.values(pressures),
];

/**
 * Returns the taints for a node's conditions and for cordon (well_known_taints.go), together with its other
 * taints. Pure.
 */
export function desiredTaints(node: Node, now: string): Taint[] {
  const present = node.spec?.taints ?? [];
  const wanted: Taint[] = [
    ...readinessTaints(readiness(node)),
    ...(node.spec?.unschedulable === true ? [noSchedule(key('unschedulable'))] : []),
    ...(node.status?.conditions ?? []).flatMap(({ type, status }) => {
      const pressure = pressures[type];
      return status === 'True' && pressure !== undefined ? [noSchedule(pressure)] : [];
    }),
  ];
  return [
    ...present.filter((taint) => !managedTaintKeys.includes(taint.key)),
    // An existing taint keeps its time, from which tolerationSeconds count.
    ...wanted.map((taint) => present.find((old) => isSame(old, taint)) ?? { ...taint, timeAdded: now }),
  ];
}

function readinessTaints(status: string | undefined): Taint[] {
  const reason = status === 'False' ? 'not-ready' : status === 'Unknown' ? 'unreachable' : undefined;
  return reason === undefined ? [] : [noSchedule(key(reason)), { key: key(reason), effect: 'NoExecute' }];
}

const noSchedule = (name: string): Taint => ({ key: name, effect: 'NoSchedule' });

const isSame = (one: Taint, other: Taint): boolean => one.key === other.key && one.effect === other.effect;
