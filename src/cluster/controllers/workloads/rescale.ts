import type { Deployment, ReplicaSet } from '../../../kubernetes/workload.ts';
import { createdAt, type Scaling, slackOf, sum, wantedBy } from './rollout.ts';

const desired = 'deployment.kubernetes.io/desired-replicas';
const most = 'deployment.kubernetes.io/max-replicas';

/** What a set says of the Deployment's count when it was scaled last. */
export function countsOf(deployment: Deployment): Record<string, string> {
  const total = deployment.spec.replicas ?? 1;
  return { [desired]: String(total), [most]: String(total + slackOf(deployment).surge) };
}

const numberAt = ({ metadata }: ReplicaSet, key: string): number | undefined => {
  const text = metadata.annotations?.[key];
  return text === undefined || !/^\d{1,9}$/u.test(text) ? undefined : Number(text);
};

/** Whether another count is wanted than when a set with pods was scaled last. Pure. */
export function isRescaled({ spec }: Deployment, sets: readonly ReplicaSet[]): boolean {
  return sets.some((set) => {
    const before = numberAt(set, desired);
    return wantedBy(set) > 0 && before !== undefined && before !== (spec.replicas ?? 1);
  });
}

/**
 * How many pods each set gets where another count is wanted, or the Deployment is paused: one set all of them; several, in the
 * middle of a rolling update, a share by their size, so that a rollout that is stuck does not get all that is new (kubernetes:
 * pkg/controller/deployment/sync.go, scale). Pure.
 */
export function rescale(
  deployment: Deployment,
  present: ReplicaSet | undefined,
  old: readonly ReplicaSet[],
): Scaling[] {
  const total = deployment.spec.replicas ?? 1;
  const newestFirst = old.toSorted((left, right) => createdAt(right) - createdAt(left));
  const all = [...(present === undefined ? [] : [present]), ...newestFirst];
  const active = all.filter((set) => wantedBy(set) > 0);
  if (active.length <= 1) {
    const [only] = active.length === 1 ? active : all;
    return only === undefined ? [] : [{ set: only, replicas: total }];
  }
  if (present !== undefined && isSaturated(present, total))
    return active.filter((set) => set !== present).map((set) => ({ set, replicas: 0 }));
  return deployment.spec.strategy?.type === 'Recreate' ? [] : shares(deployment, active);
}

/** It has all pods that are wanted, and was told so. */
const isSaturated = (set: ReplicaSet, total: number): boolean =>
  numberAt(set, desired) === total && wantedBy(set) === total && set.status?.availableReplicas === total;

/** `active`: sets with pods, the newest first. What rounding leaves over is the largest one's. */
function shares(deployment: Deployment, active: readonly ReplicaSet[]): Scaling[] {
  const total = deployment.spec.replicas ?? 1;
  const room = total === 0 ? 0 : total + slackOf(deployment).surge;
  const change = room - sum(active, wantedBy);
  const [bound, ordered] = change > 0 ? [Math.min, active] : [Math.max, active.toReversed()];
  let left = change;
  const scalings = ordered
    .toSorted((one, other) => wantedBy(other) - wantedBy(one))
    .map((set) => {
      const by = left === 0 ? 0 : bound(shareOf(deployment, set, room), left);
      left -= by;
      return { set, replicas: wantedBy(set) + by };
    });
  return scalings.map(({ set, replicas }, index) => ({
    ...{ set, replicas: index === 0 ? Math.max(0, replicas + left) : replicas },
  }));
}

/** How much larger the set is to be, or, where that is negative, smaller. */
function shareOf({ status }: Deployment, set: ReplicaSet, room: number): number {
  const size = wantedBy(set);
  // who took the annotation away gets shares of what is there
  const before = numberAt(set, most) || (status?.replicas ?? 0);
  return before === 0 ? 0 : Math.round((size * room) / before) - size;
}
