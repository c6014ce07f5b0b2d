import { freeAddresses, refuseOtherHolder } from '../address/address-holders.ts';
import { networksWithAddresses } from '../address/filled-networks.ts';
import { addressLabels, podNetworking } from '../address/pod-networking.ts';
import type { CallContext } from '../cloud.ts';
import { decideStrategy } from '../disk/attach/decide-strategy.ts';
import type { Json } from '../input.ts';
import { waitForVips } from '../service/vip.ts';
import { sayAddedLimits } from './added-limits.ts';
import { markCreated } from './creation.ts';
import { creationError, preparationError } from './creation-error.ts';
import { budgetGroupOf, requireBudget, reconcileBudget } from './disruption-budget.ts';
import { ensureVm } from './ensure-vm.ts';
import { removeUnfinished, whyKept } from './unfinished-vm.ts';
import { volumeTerms } from './volume-affinity.ts';
import type { VmPlan } from './vm-plan.ts';
import { vmLabels } from './vm-pod.ts';
import { parseVmRequest } from './vm-request.ts';
import type { VmSpec } from './vm-request.ts';
import { waitUntilRunning } from './wait-until-running.ts';

/**
 * create_vm(agent_id, stemcell_cid, cloud_properties, networks, disk_cids, env): returns `[vm_cid, networks]`
 * when the VM's container runs with the requested addresses and its Services exist. Idempotent per agent id:
 * a repeated call reuses the VM of an interrupted call if it matches the request, else replaces it. Checks
 * everything before it creates anything. On failure it removes what it created, then rejects with
 * VM_CREATION_FAILED or, if a later attempt may succeed, VM_CREATION_FAILED_RETRY. First removes a VM of the
 * same deployment that has one of the addresses and whose create_vm did not finish (unfinished-vm.ts).
 * Model: create-vm.pml
 */
export async function createVm(
  cloud: CallContext,
  args: readonly unknown[],
): Promise<[string, Record<string, Json>]> {
  const parsed = parseVmRequest(cloud, args);
  const { networks } = parsed;
  const plan = await preparePrerequisites(cloud, parsed);
  try {
    const { secret, pod, isNew } = await ensureVm(cloud, { ...parsed, plan });
    if (isNew) await refuseOtherHolder(cloud, addressLabels(networks, cloud.namespace), plan);
    await sayAddedLimits(cloud, plan, pod);
    const running = await waitUntilRunning(cloud, pod);
    await waitForVips(cloud, networks.vips);
    const group = budgetGroupOf(running);
    if (group !== undefined) await reconcileBudget(cloud, group, plan.cid);
    await markCreated(cloud, secret);
    return [plan.cid, networksWithAddresses(networks, running)];
  } catch (error) {
    throw creationError(plan, error, await removeFailedVm(cloud, plan.cid));
  }
}

/** Completes the plan with facts of the cluster and waits until its addresses are free. Creates nothing. */
async function preparePrerequisites(cloud: CallContext, parsed: VmSpec): Promise<VmPlan> {
  try {
    const plan = await planVm(cloud, parsed);
    await freeAddresses(cloud, addressLabels(parsed.networks, cloud.namespace), plan);
    return plan;
  } catch (error) {
    throw preparationError(parsed.plan, error);
  }
}

/** Completes the plan with facts of the cluster. Changes nothing. */
export async function planVm(cloud: CallContext, parsed: VmSpec): Promise<VmPlan> {
  const { networks, diskCids } = parsed;
  const plan = { ...parsed.plan, networking: await podNetworking(cloud, networks) };
  const [attach, terms] = await Promise.all([
    decideStrategy(cloud, plan),
    volumeTerms(cloud, diskCids, plan.properties.placement.zone),
    requireBudget(cloud, vmLabels(plan)),
  ]);
  return { ...plan, attach, volumeTerms: terms };
}

/**
 * Removes the objects of a failed create_vm. Returns why it could not; undefined if nothing is left. Keeps a
 * VM that has disks, and one that another call has finished or described in the meantime.
 */
async function removeFailedVm(cloud: CallContext, cid: string): Promise<unknown> {
  try {
    const reason = await removeUnfinished(cloud, cid, whyKept);
    return reason === undefined ? undefined : new Error(`${reason}, so it was left alone`);
  } catch (error) {
    return error;
  }
}
