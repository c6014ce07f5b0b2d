import { ignoreNotFound, type ObjectReference } from '../../kubernetes/api.ts';
import { ProductError, isProductError } from '../../errors/product-error.ts';
import { isApiError } from '../../kubernetes/client/api-error.ts';
import type { PodDisruptionBudget } from '../../kubernetes/types/service.ts';
import type { ObjectMeta, Stored } from '../../kubernetes/object.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { podDisruptionBudgets, pods } from '../../kubernetes/resources.ts';
import { conflictError, createOrGet } from '../objects/objects.ts';
import type { CallContext } from '../call.ts';
import { annotation, baseLabels, isManaged, label } from '../objects/labels.ts';
import { budgetName } from '../objects/names.ts';
import { explainApiError } from '../errors/explain-api-error.ts';
import { isAdmissionRejection } from '../errors/explain-forbidden.ts';

/** How often other writers may change the same budget between read and write. */
const tries = 20;

/**
 * Returns the label value of the group whose budget counts an object of a VM; undefined if it has no budget.
 */
export function budgetGroupOf({
  metadata: { labels = {} },
}: {
  metadata: Pick<ObjectMeta, 'labels'>;
}): string | undefined {
  return labels[label.disruptionBudget] === undefined ? undefined : labels[label.group];
}

/**
 * Checks the budget for a VM with these labels before any of its objects is created. Rejects if the role may
 * not read the budget of the group (ApiError 403), or if the CPI does not manage it (NOT_SUPPORTED).
 */
export async function requireBudget(call: CallContext, labels: Record<string, string>): Promise<void> {
  const group = budgetGroupOf({ metadata: { labels } });
  if (group !== undefined) await findBudget(call, group);
}

/**
 * Sets minAvailable of the group's PodDisruptionBudget to the number of active VMs minus one; deletes the
 * budget if fewer than two remain. (A percentage needs a controller, which the CPI's pods do not have.) Call
 * it after each change of the group; `cid` is the VM that changed. Every call writes if there is a budget, so
 * that the slower of two concurrent calls conflicts and counts again. Rejects with DEADLINE if every attempt
 * conflicts.
 */
export async function reconcileBudget(call: CallContext, group: string, cid: string): Promise<void> {
  for (let attempts = tries; attempts > 0; attempts -= 1) {
    const existing = await findBudget(call, group);
    const active = await countActiveVms(call, group);
    try {
      if (active >= 2) {
        const isPut = await writeBudget(call, existing, budget(call, { group, active, cid }));
        // a VM that was deleted before the budget existed had no budget to change, so this write met no
        // conflict
        if (isPut && (existing !== undefined || (await countActiveVms(call, group)) === active)) return;
      } else {
        if (existing !== undefined) await remove(call, existing);
        return;
      }
    } catch (error) {
      if (!isApiError(error, 409) && !isApiError(error, 404)) throw error;
    }
    // calls for other VMs of the group go first
    await call.clock.sleep(20 * (tries - attempts + 1));
  }
  throw conflictError('DEADLINE', `the PodDisruptionBudget of group '${group}'`);
}

const budgetReference = (call: CallContext, group: string): ObjectReference => ({
  resource: podDisruptionBudgets,
  namespace: call.namespace,
  name: budgetName(group),
});

async function findBudget(
  call: CallContext,
  group: string,
): Promise<Stored<PodDisruptionBudget> | undefined> {
  const reference = budgetReference(call, group);
  const existing = await ignoreNotFound(call.api.get<PodDisruptionBudget>(reference));
  if (existing === undefined || isManaged(existing, 'budget')) return existing;
  throw new ProductError(
    'NOT_SUPPORTED',
    `PodDisruptionBudget '${reference.name}' exists in namespace ${call.namespace} and is not managed by this CPI; remove it, or leave out disruption_budget`,
  );
}

/** Counts the VMs of the group. Terminating VMs do not count. */
async function countActiveVms(call: CallContext, group: string): Promise<number> {
  const { items } = await call.api.list<Pod>(pods, {
    namespace: call.namespace,
    labelSelector: `${label.kind}=vm,${label.group}=${group},${label.disruptionBudget}`,
  });
  return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined).length;
}

function budget(
  { namespace, directorUuid }: CallContext,
  { group, active, cid }: { group: string; active: number; cid: string },
): PodDisruptionBudget {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: {
      name: budgetName(group),
      namespace,
      labels: { ...baseLabels({ directorUuid }, 'budget'), [label.group]: group },
      annotations: { [annotation.budgetChangedBy]: cid },
    },
    spec: {
      minAvailable: active - 1,
      selector: {
        matchLabels: { [label.kind]: 'vm', [label.group]: group, [label.disruptionBudget]: 'true' },
      },
      // a VM that does not run must not block the drain of its node
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
    },
  };
}

/** Creates or updates the budget. Returns false if another call has created one in the meantime. */
async function writeBudget(
  call: CallContext,
  existing: PodDisruptionBudget | undefined,
  desired: PodDisruptionBudget,
): Promise<boolean> {
  if (existing === undefined) {
    const ensured = await createOrGet(call.api, podDisruptionBudgets, desired);
    return ensured?.isNew === true;
  }
  const { name, namespace, resourceVersion } = existing.metadata;
  await call.api.patch(
    { resource: podDisruptionBudgets, namespace, name },
    {
      metadata: { resourceVersion, annotations: desired.metadata.annotations },
      spec: { minAvailable: desired.spec.minAvailable },
    },
  );
  return true;
}

async function remove(call: CallContext, { metadata }: Stored<PodDisruptionBudget>): Promise<void> {
  const { name, namespace, uid, resourceVersion } = metadata;
  await call.api.delete(
    { resource: podDisruptionBudgets, namespace, name },
    { preconditions: { uid, resourceVersion } },
  );
}

/**
 * Updates the budget of a group after the pod of this VM was deleted. If a role, a policy or a budget that
 * the CPI does not manage forbids the update, logs a line and goes on, because no later call could do better
 * and the VM must be deletable. Other errors are thrown; the object that names the group must then stay for
 * the next call.
 */
export async function removeVmFromBudget(call: CallContext, group: string, cid: string): Promise<void> {
  try {
    await reconcileBudget(call, group, cid);
  } catch (error) {
    const why = rejectionMessage(error);
    if (why === undefined) throw error;
    call.log(
      `the PodDisruptionBudget of group '${group}' could not be updated after the deletion of VM '${cid}': ${why}`,
    );
  }
}

/** Returns the message of a permanent rejection; undefined for every other error. */
function rejectionMessage(error: unknown): string | undefined {
  if (isProductError(error, 'NOT_SUPPORTED')) return error.message;
  return isApiError(error, 403) || isAdmissionRejection(error) ? explainApiError(error).message : undefined;
}
