import { isProductError } from '../../errors/product-error.ts';
import { isApiError } from '../../kubernetes/api-error.ts';
import type { CallContext } from '../cloud.ts';
import { explainApiError } from '../failure/explain-api-error.ts';
import { isAdmissionRejection } from '../failure/forbidden.ts';
import { reconcileBudget } from './disruption-budget.ts';

/**
 * Updates the budget of a group after the pod of this VM was deleted. If a role, a policy or a budget that
 * the CPI does not manage forbids the update, logs a line and goes on, because no later call could do better
 * and the VM must be deletable. Other errors are thrown; the object that names the group must then stay for
 * the next call.
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

/** Returns the message of a permanent rejection; undefined for every other error. */
function rejectionMessage(error: unknown): string | undefined {
  if (isProductError(error, 'NOT_SUPPORTED')) return error.message;
  return isApiError(error, 403) || isAdmissionRejection(error) ? explainApiError(error).message : undefined;
}
