import { isProductError } from '../../errors/product-error.ts';
import { isApiError } from '../../kubernetes/api-error.ts';
import type { CallContext } from '../cloud.ts';
import { explainApiError } from '../failure/explain-api-error.ts';
import { isAdmissionRejection } from '../failure/forbidden.ts';
import { reconcileBudget } from './disruption-budget.ts';

/**
 * Brings the budget of a group to its VMs without this one, whose pod was asked to end before. What no later call could do
 * better, since the role, a policy or somebody else's budget forbids it, is a line in the response's log: a VM has to go.
 * What time may mend is an error, and whatever tells the group has to stay for the next call.
 */
export async function removeVmFromBudget(cloud: CallContext, group: string, cid: string): Promise<void> {
  try {
    await reconcileBudget(cloud, group, cid);
  } catch (error) {
    const why = rejectionMessage(error);
    if (why === undefined) throw error;
    cloud.log(`the PodDisruptionBudget of group '${group}' does not follow the end of VM '${cid}': ${why}`);
  }
}

/** In words; undefined for everything else. */
function rejectionMessage(error: unknown): string | undefined {
  if (isProductError(error, 'NOT_SUPPORTED')) return error.message;
  return isApiError(error, 403) || isAdmissionRejection(error) ? explainApiError(error).message : undefined;
}
