import { type EventRecorder, involved } from '../../src/kubernetes/controllers/event-recorder.ts';
import { Controller } from '../../src/kubernetes/controllers/controller.ts';
import { timestamp } from '../../src/kubernetes/timestamp.ts';
import { isDeepStrictEqual } from 'node:util';
import { ignoreNotFound } from '../../src/kubernetes/api.ts';
import { matchesLabelSelector } from '../../src/kubernetes/types/label-selector.ts';
import { type LabelSelector, type Pod, isPodReady } from '../../src/kubernetes/types/pod.ts';
import { podDisruptionBudgets } from '../../src/kubernetes/resources.ts';
import type { ControllerContext } from './controller-context.ts';
import type { DisruptionBudgetStatus, PodDisruptionBudget } from '../../src/kubernetes/types/service.ts';

type Context = ControllerContext<'budgets' | 'pods'>;

/**
 * Updates the status of PodDisruptionBudgets when their pods change (kubernetes: pkg/controller/disruption).
 */
export class DisruptionBudgets extends Controller {
  readonly #informers: Context['informers'];
  readonly #clock: Context['clock'];
  readonly #api: Context['api'];
  readonly #recorder: EventRecorder;

  constructor(context: Context) {
    super('disruption-budgets', context);
    this.#informers = context.informers;
    this.#clock = context.clock;
    this.#api = context.api;
    const { informers } = context;
    this.#recorder = context.recorder('controllermanager');

    this.watch(informers.budgets);

    informers.pods.onChange(({ before, after }) => {
      for (const pod of [before, after]) if (pod !== undefined) this.#addBudgetsOf(pod);
    });
  }

  #addBudgetsOf({ metadata: { namespace, labels = {} } }: Pod): void {
    for (const { metadata, spec } of this.#informers.budgets.list()) {
      if (metadata.namespace === namespace && selects(spec?.selector, labels))
        this.queue.add(`${namespace}/${metadata.name}`);
    }
  }

  protected override async reconcile(key: string): Promise<void> {
    const budget = this.#informers.budgets.get(key);
    if (budget === undefined || budget.metadata.deletionTimestamp !== undefined) return;
    const { namespace } = budget.metadata;
    const pods = this.#informers.pods
      .list()
      .filter(
        ({ metadata: { namespace: own, labels = {} } }) =>
          own === namespace && selects(budget.spec?.selector, labels),
      );
    const { status, again, needsController } = budgetStatus(
      { ...budget, spec: budget.spec ?? {} },
      pods,
      this.#clock.now(),
    );
    if (again !== undefined) this.queue.addAfter(key, again);
    if (isDeepStrictEqual(status, budget.status)) return;
    if (needsController) {
      this.#recorder.record(involved('PodDisruptionBudget', budget, 'policy/v1'), {
        type: 'Warning',
        reason: 'UnmanagedPods',
        message:
          'Pods selected by this PodDisruptionBudget were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.',
      });
    }
    // After a conflict, the budget is reconciled again.
    await ignoreNotFound(this.#api.replace(podDisruptionBudgets, { ...budget, status }, 'status'));
  }
}

/** Without a selector a budget selects no pods, with an empty one all pods. */
function selects(selector: LabelSelector | undefined, labels: Readonly<Record<string, string>>): boolean {
  return selector !== undefined && matchesLabelSelector(selector, labels);
}

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
      disrupted[pod.metadata.name] === undefined &&
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
      .map(({ metadata }) => metadata.name),
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
  const previous = before?.conditions?.find(({ type }) => type === 'DisruptionAllowed');
  return {
    type: 'DisruptionAllowed',
    status,
    reason: allowed ? 'SufficientPods' : 'InsufficientPods',
    message: '',
    lastTransitionTime: previous?.status === status ? previous.lastTransitionTime : timestamp(now),
    observedGeneration,
  };
}
