import { timestamp } from '../../../src/kubernetes/timestamp.ts';
import type { DisruptionBudgetStatus, PodDisruptionBudget } from '../../../src/kubernetes/types/service.ts';
import { matchesLabelSelector } from '../../../src/kubernetes/types/label-selector.ts';
import { isPodReady, type Pod } from '../../../src/kubernetes/types/pod.ts';
import { podDisruptionBudgets, pods } from '../../../src/kubernetes/resources.ts';
import { groupResource, newStatusError } from '../errors/status-errors.ts';
import type { ApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { assertPreconditions, deleteObject, type DeleteObjectOptions } from './delete.ts';
import { getObject, kindOf, type Location, type Registry } from './registry.ts';

/**
 * Serves POST pods/eviction (kubernetes: pkg/registry/core/pod/storage/eviction.go): a delete that a
 * PodDisruptionBudget can reject. Pending, terminal and terminating pods need no budget. Throws ApiError 404,
 * 409 (preconditions), 429 (the budget allows no disruption), 500 (two budgets for one pod).
 */
export function evictPod(registry: Registry, location: Location, options: DeleteObjectOptions): void {
  const kind = kindOf(registry, pods);
  const stored = getObject(registry, kind, location);
  assertPreconditions(kind, stored, options);
  const pod = stored as unknown as Pod;
  if (!needsNoBudget(pod)) consumeDisruption(registry, pod, options.dryRun === true);
  if (options.dryRun !== true) markDisrupted(registry, stored);
  const { uid } = options.preconditions ?? {};
  const { preconditions: _checked, ...deletion } = options;
  deleteObject(registry, kind, location, {
    ...deletion,
    ...(uid === undefined ? {} : { preconditions: { uid } }),
  });
}

function needsNoBudget({ metadata, status }: Pod): boolean {
  return (
    ['Succeeded', 'Failed', 'Pending'].includes(status?.phase ?? 'Pending') ||
    metadata.deletionTimestamp !== undefined
  );
}

function consumeDisruption(registry: Registry, pod: Pod, dryRun: boolean): void {
  const { namespace, name, labels = {} } = pod.metadata;
  const budgets = registry.store
    .list(groupResource(podDisruptionBudgets), namespace)
    .map((object) => object as unknown as PodDisruptionBudget & StoredObject)
    .filter(({ spec }) => spec?.selector !== undefined && matchesLabelSelector(spec.selector, labels));
  const [budget, other] = budgets;
  if (other !== undefined) {
    throw newStatusError(
      500,
      'InternalError',
      'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.',
    );
  }
  if (budget === undefined || (!isPodReady(pod) && unhealthyEvictionAllowed(budget))) return;
  const status = decrementAllowed(budget);
  if (dryRun) return;
  const now = timestamp(registry.clock.now());
  const disruptedPods = { ...status.disruptedPods, [name]: now };
  registry.store.put(groupResource(podDisruptionBudgets), {
    ...budget,
    status: { ...status, disruptedPods },
  });
}

/**
 * A pod that is not ready is not counted as healthy, so its eviction costs nothing while the other pods meet
 * the budget.
 */
function unhealthyEvictionAllowed({ spec, status }: PodDisruptionBudget): boolean {
  if (spec.unhealthyPodEvictionPolicy === 'AlwaysAllow') return true;
  const { currentHealthy = 0, desiredHealthy = 0 } = status ?? {};
  return currentHealthy >= desiredHealthy && desiredHealthy > 0;
}

function decrementAllowed({ metadata, status }: PodDisruptionBudget): DisruptionBudgetStatus {
  const { name, generation = 0 } = metadata;
  if (status === undefined || (status.observedGeneration ?? 0) < generation)
    throw tooManyRequests(`The disruption budget ${name} is still being processed by the server.`, 10);
  if (status.disruptionsAllowed > 0) return { ...status, disruptionsAllowed: status.disruptionsAllowed - 1 };
  throw tooManyRequests(
    status.currentHealthy <= status.desiredHealthy
      ? `The disruption budget ${name} needs ${status.desiredHealthy} healthy pods and has ${status.currentHealthy} currently`
      : `The disruption budget ${name} does not allow evicting pods currently`,
  );
}

function tooManyRequests(message: string, retryAfterSeconds?: number): ApiError {
  return newStatusError(
    429,
    'TooManyRequests',
    "Cannot evict pod as it would violate the pod's disruption budget.",
    {
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
      causes: [{ reason: 'DisruptionBudget', message }],
    },
  );
}

function markDisrupted(registry: Registry, stored: StoredObject): void {
  const { status = {} } = stored as unknown as Pod;
  const others = (status.conditions ?? []).filter(({ type }) => type !== 'DisruptionTarget');
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'EvictionByEvictionAPI',
    message: 'Eviction API: evicting',
    lastTransitionTime: timestamp(registry.clock.now()),
  };
  registry.store.put(groupResource(pods), {
    ...stored,
    status: { ...status, conditions: [...others, condition] },
  });
}
