import type { Deployment, ReplicaSet } from '../../../kubernetes/workload.ts';

/** How many pods a set should have. */
export interface Scaling {
  readonly set: ReplicaSet;
  readonly replicas: number;
}

/** A count, or a share of the total; shares of a surge round up, of what may be missing down (intstr.GetScaledValue). */
export function amountOf(amount: number | string | undefined, total: number, up: boolean): number {
  if (typeof amount === 'number') return amount;
  const share = (Number.parseInt(amount ?? '0', 10) * total) / 100;
  return up ? Math.ceil(share) : Math.floor(share);
}

/** How many pods more than wanted there may be, and how many fewer; not both none (ResolveFenceposts). */
export function slackOf({ spec }: Deployment): { readonly surge: number; readonly unavailable: number } {
  if (spec.strategy?.type === 'Recreate') return { surge: 0, unavailable: spec.replicas ?? 1 };
  const total = spec.replicas ?? 1;
  const { maxSurge, maxUnavailable } = spec.strategy?.rollingUpdate ?? {};
  const surge = amountOf(maxSurge, total, true);
  const unavailable = amountOf(maxUnavailable, total, false);
  return surge === 0 && unavailable === 0 ? { surge, unavailable: 1 } : { surge, unavailable };
}

/** How many pods the set is to have. */
export const wantedBy = ({ spec }: ReplicaSet): number => spec.replicas ?? 0;
/** What a status says of pods that are to go counts no more. */
const availableOf = (set: ReplicaSet): number => Math.min(set.status?.availableReplicas ?? 0, wantedBy(set));
/** Of all sets together. */
export const sum = (sets: readonly ReplicaSet[], count: (set: ReplicaSet) => number): number =>
  sets.reduce((total, set) => total + count(set), 0);

/** How many pods the set of the present template gets now: as many as the surge leaves room for. Pure. */
export function scaleUp(deployment: Deployment, present: ReplicaSet, old: readonly ReplicaSet[]): number {
  const total = deployment.spec.replicas ?? 1;
  const { surge } = slackOf(deployment);
  if (wantedBy(present) > total) return total;
  const room = total + surge - sum([present, ...old], wantedBy);
  return Math.max(wantedBy(present), Math.min(total, wantedBy(present) + Math.max(0, room)));
}

/**
 * Which sets of former templates shrink in a rolling update (kubernetes: pkg/controller/deployment/rolling.go): first
 * pods that are not available, then as many as may be missing, oldest sets first. Pure.
 */
export function scaleDown(
  deployment: Deployment,
  present: ReplicaSet,
  old: readonly ReplicaSet[],
): Scaling[] {
  const total = deployment.spec.replicas ?? 1;
  const least = total - slackOf(deployment).unavailable;
  const lacking = wantedBy(present) - availableOf(present);
  let most = sum([present, ...old], wantedBy) - least - lacking;
  const sizes = new Map(old.map((set) => [set, wantedBy(set)]));
  const oldest = old.toSorted((left, right) => createdAt(left) - createdAt(right));
  const shrink = (set: ReplicaSet, by: number): void => {
    const size = sizes.get(set) ?? 0;
    const less = Math.max(0, Math.min(size, by));
    sizes.set(set, size - less);
    most -= less;
  };
  for (const set of oldest) shrink(set, Math.min(most, wantedBy(set) - availableOf(set)));
  let spare = sum([present, ...old], availableOf) - least;
  for (const set of oldest) {
    const before = sizes.get(set) ?? 0;
    shrink(set, Math.min(spare, most, before));
    spare -= before - (sizes.get(set) ?? 0);
  }
  return [...sizes]
    .filter(([set, replicas]) => replicas !== wantedBy(set))
    .map(([set, replicas]) => ({ set, replicas }));
}

/** In milliseconds since the epoch. */
export const createdAt = ({ metadata }: ReplicaSet): number => Date.parse(metadata.creationTimestamp ?? '');
