import type { Node, Taint } from '../../../src/kubernetes/types/node.ts';

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
