import { type EventRecorder, involved } from '../../../src/kubernetes/controllers/event-recorder.ts';
import { Controller } from '../../../src/kubernetes/controllers/controller.ts';
import { timestamp } from '../../../src/kubernetes/timestamp.ts';
import { isDeepStrictEqual } from 'node:util';
import { nodeLeaseNamespace, type Node, type Taint } from '../../../src/kubernetes/types/node.ts';
import type { Pod } from '../../../src/kubernetes/types/pod.ts';
import { nodes as nodeResource, pods as podResource } from '../../../src/kubernetes/resources.ts';
import type { ControllerContext } from '../../controllers/controller-context.ts';
import { patchSameVersion } from '../../../src/kubernetes/controllers/conditional-writes.ts';

type Context = ControllerContext<'leases' | 'nodes' | 'pods'>;

/**
 * Marks a node as unknown when it is unresponsive, and taints it by its conditions (kubernetes:
 * pkg/controller/nodelifecycle, reduced: no rate limits, no zones). A node is monitored from its first Lease
 * on. The grace period counts from when this controller last saw the Lease change, so that clocks of two
 * machines are never compared.
 */
export class NodeLifecycle extends Controller {
  readonly #informers: Context['informers'];
  readonly #clock: Context['clock'];
  readonly #timings: NodeTimings;
  readonly #api: Context['api'];
  readonly #recorder: EventRecorder;
  readonly #heard = new Map<string, { readonly word: string; readonly at: number }>();

  constructor(context: Context, timings: NodeTimings) {
    super('node-lifecycle', context);
    this.#informers = context.informers;
    this.#clock = context.clock;
    this.#timings = timings;
    this.#api = context.api;
    const { informers } = context;
    this.#recorder = context.recorder('node-controller');

    informers.nodes.onChange(({ key, after }) => {
      if (after === undefined) this.#heard.delete(key);
      this.queue.add(key);
    });

    informers.leases.onChange(({ after }) => {
      const { namespace, name = '' } = after?.metadata ?? {};
      if (namespace === nodeLeaseNamespace) this.queue.add(name);
    });
  }

  protected override async reconcile(name: string): Promise<void> {
    const node = this.#informers.nodes.get(name);
    if (node === undefined) return;
    const isKnownSilent = readiness(node) === 'Unknown';
    if (this.#isUnresponsive(node) && !isKnownSilent) {
      // This change of the node adds it to the queue again.
      await this.#markUnknown(node);
      return;
    }
    await this.#taint(node);
    if (isKnownSilent || readiness(node) === 'False') await this.#markPods(name);
  }

  /** A renewed Lease or a status update counts as a heartbeat. */
  #isUnresponsive(node: Node): boolean {
    const { name } = node.metadata;
    const lease = this.#informers.leases.get(`${nodeLeaseNamespace}/${name}`);
    if (lease === undefined) return false;
    const word = `${lease.spec?.renewTime ?? ''} ${lastHeartbeat(node) ?? ''}`;
    const last = this.#heard.get(name);
    if (last?.word !== word) {
      this.#heard.set(name, { word, at: this.#clock.now() });
      this.queue.addAfter(name, this.#timings.grace);
      return false;
    }
    const remaining = last.at + this.#timings.grace - this.#clock.now();
    if (remaining > 0) this.queue.addAfter(name, remaining);
    return remaining <= 0;
  }

  async #markUnknown(node: Node): Promise<void> {
    const now = timestamp(this.#clock.now());
    await patchSameVersion(
      this.#api,
      nodeResource,
      node,
      { status: { conditions: unknownConditions(node, now) } },
      'status',
    );
    this.#recorder.record(involved('Node', node), {
      type: 'Normal',
      reason: 'NodeNotReady',
      message: `Node ${node.metadata.name} status is now: NodeNotReady`,
    });
  }

  async #taint(node: Node): Promise<void> {
    const present = node.spec?.taints ?? [];
    const taints = desiredTaints(node, timestamp(this.#clock.now()));
    if (isDeepStrictEqual(new Set(taints), new Set(present))) return;
    await patchSameVersion(this.#api, nodeResource, node, { spec: { taints } });
  }

  /** Sets the pods of such a node to not ready, because their state is unknown (MarkPodsNotReady). */
  async #markPods(nodeName: string): Promise<void> {
    for (const pod of this.#informers.pods.list()) {
      if (pod.spec.nodeName === nodeName && isReady(pod)) await this.#markUnready(pod);
    }
  }

  async #markUnready(pod: Pod): Promise<void> {
    const conditions = (pod.status?.conditions ?? []).map((condition) =>
      condition.type === 'Ready'
        ? {
            ...condition,
            status: 'False' as const,
            reason: 'NodeNotReady',
            lastTransitionTime: timestamp(this.#clock.now()),
          }
        : condition,
    );
    await patchSameVersion(this.#api, podResource, pod, { status: { conditions } }, 'status');
  }
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
  const desired: Taint[] = [
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
    ...desired.map((taint) => present.find((old) => isSame(old, taint)) ?? { ...taint, timeAdded: now }),
  ];
}

function readinessTaints(status: string | undefined): Taint[] {
  const reason = status === 'False' ? 'not-ready' : status === 'Unknown' ? 'unreachable' : undefined;
  return reason === undefined ? [] : [noSchedule(key(reason)), { key: key(reason), effect: 'NoExecute' }];
}

const noSchedule = (name: string): Taint => ({ key: name, effect: 'NoSchedule' });

const isSame = (one: Taint, other: Taint): boolean => one.key === other.key && one.effect === other.effect;
