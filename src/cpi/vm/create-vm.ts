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
 * when the VM's container runs with the addresses that were asked for and its Services are there. Called
 * again with the same agent id after any end it arrives at one VM: the former one where it is what is asked
 * for, else a new one. Everything is checked before anything is made; a failure removes what was made, then
 * rejects with VM_CREATION_FAILED or, where a later try may succeed, VM_CREATION_FAILED_RETRY. A VM of the
 * same deployment that has one of its addresses and whose create_vm did not finish is removed first
 * (unfinished-vm.ts). Model: create-vm.pml
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

/** What the cluster makes of the request, and its addresses free. Makes nothing. */
async function preparePrerequisites(cloud: CallContext, parsed: VmSpec): Promise<VmPlan> {
  try {
    const plan = await planVm(cloud, parsed);
    await freeAddresses(cloud, addressLabels(parsed.networks, cloud.namespace), plan);
    return plan;
  } catch (error) {
    throw preparationError(parsed.plan, error);
  }
}

/** What the cluster makes of the request. Changes nothing. */
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
 * What stood in the way of removing what was made; undefined if nothing is left. A VM that has disks, or that
 * another call has finished or described meanwhile, stays.
 */
async function removeFailedVm(cloud: CallContext, cid: string): Promise<unknown> {
  try {
    const reason = await removeUnfinished(cloud, cid, whyKept);
    return reason === undefined ? undefined : new Error(`${reason}, so it was left alone`);
  } catch (error) {
    return error;
  }
}
