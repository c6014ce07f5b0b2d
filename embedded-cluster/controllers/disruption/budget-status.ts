import type { DisruptionBudgetStatus, PodDisruptionBudget } from '../../../src/kubernetes/types/service.ts';
import { isPodReady, type Pod } from '../../../src/kubernetes/types/pod.ts';
import { timestamp } from '../runtime/event-recorder.ts';

/** How long an allowed eviction counts as a disruption if the deletion of its pod does not begin. */
const deletionTimeoutMs = 120_000;

/** The status of a budget, and when to compute it again (milliseconds from now). */
export interface BudgetDecision {
  readonly status: DisruptionBudgetStatus;
  readonly again: number | undefined;
  /** True if there are pods and the budget is relative to the replicas that their controllers want. */
  readonly needsController: boolean;
}

/**
 * Returns the status of a budget (kubernetes: pkg/controller/disruption). Percentages and maxUnavailable are
 * relative to the replicas of the pods' controllers. This cluster has no such controllers, so no disruption
 * is allowed then, as for BOSH's VMs in a real cluster. `now` is in milliseconds. Pure.
 */
export function budgetStatus(
  { spec, status, metadata }: PodDisruptionBudget,
  pods: readonly Pod[],
  now: number,
): BudgetDecision {
  const isCount = typeof spec.minAvailable === 'number' && spec.maxUnavailable === undefined;
  const expectedPods = isCount ? pods.length : 0;
  const desiredHealthy = isCount ? Number(spec.minAvailable) : 0;
  const disrupted = pendingDisruptions(status?.disruptedPods ?? {}, pods, now);
  const currentHealthy = pods.filter(
    (pod) =>
      pod.metadata.deletionTimestamp === undefined &&
      disrupted[pod.metadata.name ?? ''] === undefined &&
      isPodReady(pod),
  ).length;
  const spare = currentHealthy - desiredHealthy;
  const disruptionsAllowed = expectedPods <= 0 || spare <= 0 ? 0 : spare;
  const ends = Object.values(disrupted).map((time) => Date.parse(time) + deletionTimeoutMs - now);
  return {
    status: {
      observedGeneration: metadata.generation ?? 0,
      ...(Object.keys(disrupted).length === 0 ? {} : { disruptedPods: disrupted }),
      ...{ disruptionsAllowed, currentHealthy, desiredHealthy, expectedPods },
      conditions: [condition(status, disruptionsAllowed > 0, metadata.generation ?? 0, now)],
    },
    again: ends.length === 0 ? undefined : Math.min(...ends),
    needsController: !isCount && pods.length > 0,
  };
}

function pendingDisruptions(
  disrupted: Readonly<Record<string, string>>,
  pods: readonly Pod[],
  now: number,
): Record<string, string> {
  const alive = new Set(
    pods
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => metadata.name ?? ''),
  );
  return Object.fromEntries(
    Object.entries(disrupted).filter(
      ([name, time]) => alive.has(name) && Date.parse(time) + deletionTimeoutMs > now,
    ),
  );
}

function condition(
  before: DisruptionBudgetStatus | undefined,
  allowed: boolean,
  observedGeneration: number,
  now: number,
): NonNullable<DisruptionBudgetStatus['conditions']>[number] {
  const status = allowed ? 'True' : 'False';
  const former = before?.conditions?.find(({ type }) => type === 'DisruptionAllowed');
  return {
    type: 'DisruptionAllowed',
    status,
    reason: allowed ? 'SufficientPods' : 'InsufficientPods',
    message: '',
    lastTransitionTime: former?.status === status ? former.lastTransitionTime : timestamp(now),
    observedGeneration,
  };
}
