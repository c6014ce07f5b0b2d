import { isDeepStrictEqual } from 'node:util';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import { matchesLabelSelector } from '../../../src/kubernetes/types/label-selector.ts';
import type { LabelSelector, Pod } from '../../../src/kubernetes/types/pod.ts';
import { podDisruptionBudgets } from '../../../src/kubernetes/resources.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import { WorkQueue } from '../runtime/work-queue.ts';
import { budgetStatus } from './budget-status.ts';

/**
 * Updates the status of PodDisruptionBudgets when their pods change (kubernetes: pkg/controller/disruption).
 */
export function createDisruptionBudgets(context: ControllerContext): WorkQueue {
  const { api, informers, clock } = context;
  const queue = new WorkQueue('disruption-budgets', reconcile, context);
  const recorder = context.recorder('controllermanager');

  informers.budgets.onChange(({ key }) => queue.add(key));
  informers.pods.onChange(({ before, after }) => {
    for (const pod of [before, after]) if (pod !== undefined) addBudgetsOf(pod);
  });

  function addBudgetsOf({ metadata: { namespace = '', labels = {} } }: Pod): void {
    for (const { metadata, spec } of informers.budgets.list()) {
      if (metadata.namespace === namespace && selects(spec?.selector, labels))
        queue.add(`${namespace}/${metadata.name ?? ''}`);
    }
  }

  async function reconcile(key: string): Promise<void> {
    const budget = informers.budgets.get(key);
    if (budget === undefined || budget.metadata.deletionTimestamp !== undefined) return;
    const { namespace } = budget.metadata;
    const pods = informers.pods
      .list()
      .filter(
        ({ metadata: { namespace: own, labels = {} } }) =>
          own === namespace && selects(budget.spec?.selector, labels),
      );
    const { status, again, needsController } = budgetStatus(
      { ...budget, spec: budget.spec ?? {} },
      pods,
      clock.now(),
    );
    if (again !== undefined) queue.addAfter(key, again);
    if (isDeepStrictEqual(status, budget.status)) return;
    if (needsController) {
      recorder.record(
        { kind: 'PodDisruptionBudget', apiVersion: 'policy/v1', object: budget },
        {
          type: 'Warning',
          reason: 'UnmanagedPods',
          message:
            'Pods selected by this PodDisruptionBudget were found to be unmanaged. As a result, the status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an integer value.',
        },
      );
    }
    try {
      await api.replace(podDisruptionBudgets, { ...budget, status }, 'status');
    } catch (error) {
      // The budget was deleted. After a conflict, the budget is reconciled again.
      if (!isApiError(error, 404)) throw error;
    }
  }

  return queue;
}

/** Without a selector a budget selects no pods, with an empty one all pods. */
function selects(selector: LabelSelector | undefined, labels: Readonly<Record<string, string>>): boolean {
  return selector !== undefined && matchesLabelSelector(selector, labels);
}
