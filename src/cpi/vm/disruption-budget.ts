import { ignoreNotFound } from '../../kubernetes/if-there.ts';
import { ProductError } from '../../errors/product-error.ts';
import { isApiError } from '../../kubernetes/api-error.ts';
import type { ObjectReference } from '../../kubernetes/api.ts';
import type { PodDisruptionBudget } from '../../kubernetes/disruption-budget.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import type { Pod } from '../../kubernetes/pod.ts';
import { podDisruptionBudgets, pods } from '../../kubernetes/resources.ts';
import { conflictError } from '../changed-by-others.ts';
import type { CallContext } from '../cloud.ts';
import { createOrGet } from '../create-unless-there.ts';
import { annotation, baseLabels, isManaged, label } from '../labels.ts';
import { budgetName } from '../names.ts';

/** How often others may change the same budget between our look and our write. */
const tries = 20;

/** The label value of the group whose budget an object of a VM counts for; undefined where it has none. */
export function budgetGroupOf({ metadata: { labels = {} } }: KubernetesObject): string | undefined {
  return labels[label.disruptionBudget] === undefined ? undefined : labels[label.group];
}

/**
 * For a VM with these labels, before anything of it is made: rejects where the role may not read the budget of its group
 * (ApiError 403) or that is somebody else's (NOT_SUPPORTED).
 */
export async function requireBudget(cloud: CallContext, labels: Record<string, string>): Promise<void> {
  const group = budgetGroupOf({ metadata: { labels } });
  if (group !== undefined) await findBudget(cloud, group);
}

/**
 * Brings the PodDisruptionBudget of a group to its living VMs: all but one have to stay, as a number, since a share needs
 * a controller that pods of ours do not have. With fewer than two there is none. To be called after each change of
 * the group; `cid` is the VM that changed. Every call writes where there is a budget, so that of two at the same
 * time the one with the older picture is refused and looks again. Rejects with DEADLINE where it never gets through.
 */
export async function reconcileBudget(cloud: CallContext, group: string, cid: string): Promise<void> {
  for (let left = tries; left > 0; left -= 1) {
    const existing = await findBudget(cloud, group);
    const living = await countActiveVms(cloud, group);
    try {
      if (living >= 2) {
        const isPut = await writeBudget(cloud, existing, budget(cloud, { group, living, cid }));
        // a VM that went before a budget was there had none to change, and nothing was a conflict for this one
        if (isPut && (existing !== undefined || (await countActiveVms(cloud, group)) === living)) return;
      } else {
        if (existing !== undefined) await remove(cloud, existing);
        return;
      }
    } catch (error) {
      if (!isApiError(error, 409) && !isApiError(error, 404)) throw error;
    }
    // others of the group go first
    await cloud.clock.sleep(20 * (tries - left + 1));
  }
  throw conflictError('DEADLINE', `the PodDisruptionBudget of group '${group}'`);
}

const budgetReference = (cloud: CallContext, group: string): ObjectReference => ({
  resource: podDisruptionBudgets,
  namespace: cloud.namespace,
  name: budgetName(group),
});

async function findBudget(cloud: CallContext, group: string): Promise<PodDisruptionBudget | undefined> {
  const reference = budgetReference(cloud, group);
  const found = await ignoreNotFound(cloud.api.get<PodDisruptionBudget>(reference));
  if (found === undefined || isManaged(found, 'budget')) return found;
  throw new ProductError(
    'NOT_SUPPORTED',
    `PodDisruptionBudget '${reference.name}' exists in namespace ${cloud.namespace} and is not of this CPI; remove it, or leave out disruption_budget`,
  );
}

/** VMs on their way out count no more. */
async function countActiveVms(cloud: CallContext, group: string): Promise<number> {
  const { items } = await cloud.api.list<Pod>(pods, {
    namespace: cloud.namespace,
    labelSelector: `${label.kind}=vm,${label.group}=${group},${label.disruptionBudget}`,
  });
  return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined).length;
}

function budget(
  { namespace, directorUuid }: CallContext,
  { group, living, cid }: { group: string; living: number; cid: string },
): PodDisruptionBudget {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: {
      name: budgetName(group),
      namespace,
      labels: { ...baseLabels('budget', directorUuid), [label.group]: group },
      annotations: { [annotation.settledBy]: cid },
    },
    spec: {
      minAvailable: living - 1,
      selector: {
        matchLabels: { [label.kind]: 'vm', [label.group]: group, [label.disruptionBudget]: 'true' },
      },
      // a VM that does not run keeps nobody from draining its node
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
    },
  };
}

/** False where another one is there by now. */
async function writeBudget(
  cloud: CallContext,
  existing: PodDisruptionBudget | undefined,
  wanted: PodDisruptionBudget,
): Promise<boolean> {
  if (existing === undefined) {
    const ensured = await createOrGet(cloud.api, podDisruptionBudgets, wanted);
    return ensured?.isNew === true;
  }
  const { name = '', namespace, resourceVersion } = existing.metadata;
  await cloud.api.patch(
    { resource: podDisruptionBudgets, namespace, name },
    {
      metadata: { resourceVersion, annotations: wanted.metadata.annotations },
      spec: { minAvailable: wanted.spec.minAvailable },
    },
  );
  return true;
}

async function remove(cloud: CallContext, { metadata }: PodDisruptionBudget): Promise<void> {
  const { name = '', namespace, uid = '', resourceVersion = '' } = metadata;
  await cloud.api.delete(
    { resource: podDisruptionBudgets, namespace, name },
    { preconditions: { uid, resourceVersion } },
  );
}
