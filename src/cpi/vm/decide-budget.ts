import { ProductError } from '../../errors/product-error.ts';
import type { Cloud } from '../cloud.ts';
import { hasBudget } from './vm-pod.ts';
import type { VmPlan } from './vm-pod.ts';

type Asking = Pick<VmPlan, 'cid' | 'properties' | 'group' | 'groupNames'>;

/**
 * The plan of a VM, without a budget where it asks for one and its group is an errand's. No call says what is one, so the
 * director is asked, for VMs that would get a budget alone. Where nobody can tell there is none either: a line in the
 * response's log. Makes nothing. Rejects with NOT_SUPPORTED where no director is configured, and as `lifecycleOf`.
 */
export async function decideBudget<Plan extends Asking>(cloud: Cloud, plan: Plan): Promise<Plan> {
  if (!hasBudget(plan)) return plan;
  const { cid, groupNames } = plan;
  if (groupNames === undefined) {
    cloud.note(`VM '${cid}' gets no PodDisruptionBudget: env.bosh.groups does not tell its instance group`);
    return withoutBudget(plan);
  }
  const { deployment, instanceGroup } = groupNames;
  const whose = `instance group '${instanceGroup}' of deployment '${deployment}'`;
  if (cloud.director === undefined)
    throw new ProductError(
      'NOT_SUPPORTED',
      `disruption_budget is true for VM '${cid}', and an errand's VMs get no budget, but the CPI has no director to ask whether ${whose} is an errand; set the property director of the CPI (url, client and client_secret), or leave out disruption_budget`,
    );
  const lifecycle = await cloud.director.lifecycleOf(groupNames);
  switch (lifecycle) {
    case 'service':
      return plan;
    case 'errand':
      cloud.note(`VM '${cid}' gets no PodDisruptionBudget: ${whose} is an errand`);
      return withoutBudget(plan);
    case 'undecided':
      cloud.note(
        `VM '${cid}' gets no PodDisruptionBudget: the manifest has a variable where it would tell whether ${whose} is an errand; write its name and lifecycle out, and recreate the VM`,
      );
      return withoutBudget(plan);
  }
}

const withoutBudget = <Plan extends Asking>(plan: Plan): Plan => ({
  ...plan,
  properties: { ...plan.properties, disruption: { budget: false } },
});
