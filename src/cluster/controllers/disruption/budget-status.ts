import type { DisruptionBudgetStatus, PodDisruptionBudget } from '../../../kubernetes/disruption-budget.ts';
import { isPodReady } from '../../../kubernetes/pod-readiness.ts';
import type { Pod } from '../../../kubernetes/pod.ts';
import { controllerOf } from '../workloads/owned-pods.ts';
import { amountOf } from '../workloads/rollout.ts';
import { timestamp } from '../runtime/event-recorder.ts';

/** How long an eviction that was allowed counts before its pod is being deleted. */
const deletionTimeoutMs = 120_000;

/** What a budget has to say, and when it has to be looked at again (milliseconds from now). */
export interface BudgetDecision {
  readonly status: DisruptionBudgetStatus;
  readonly again: number | undefined;
  /** Pods without a controller, for which only an integer minAvailable means something. */
  readonly unmanaged: readonly string[];
}

/**
 * The status of a budget (kubernetes: pkg/controller/disruption). A share, and maxUnavailable, are of what the pods'
 * controllers want; of pods that have none, as BOSH's VMs, it is a share of nothing and no disruption is allowed, as in
 * a real cluster. `replicas`: what a pod's controller wants, by its uid. Pure; `now`: milliseconds.
 */
export function budgetStatus(
  { spec, status, metadata }: PodDisruptionBudget,
  pods: readonly Pod[],
  now: number,
  replicas: ReadonlyMap<string, number> = new Map(),
): BudgetDecision {
  const isCount = typeof spec.minAvailable === 'number' && spec.maxUnavailable === undefined;
  const unmanaged = isCount ? [] : pods.filter((pod) => !replicas.has(controllerOf(pod)?.uid ?? ''));
  const keepers = new Set(pods.map((pod) => controllerOf(pod)?.uid ?? ''));
  const wanted = [...keepers].reduce((sum, uid) => sum + (replicas.get(uid) ?? 0), 0);
  const expectedPods = isCount ? pods.length : unmanaged.length > 0 ? 0 : wanted;
  const desiredHealthy = isCount ? Number(spec.minAvailable) : shareOf(spec, expectedPods);
  const disrupted = stillAwaited(status?.disruptedPods ?? {}, pods, now);
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
    unmanaged: unmanaged.map(({ metadata: { name = '' } }) => name),
  };
}

/** Shares round up, also of what may be missing (pkg/controller/disruption getExpectedScale). */
function shareOf(
  { minAvailable, maxUnavailable }: PodDisruptionBudget['spec'] & object,
  expected: number,
): number {
  return maxUnavailable === undefined
    ? amountOf(minAvailable, expected, true)
    : Math.max(0, expected - amountOf(maxUnavailable, expected, true));
}

function stillAwaited(
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
