import type { Field } from '../../platform/field.ts';
import { label } from './labels.ts';
import { labelValue } from './names.ts';

/** The properties of a VM's instance group that the director sends; empty with create-env. */
export interface InstanceGroup {
  /** Director, deployment and instance group in one name: VMs of one group avoid each other's node. */
  readonly group: string | undefined;
  /** The three names as separate labels, for every object of the VM. */
  readonly groupLabels: Readonly<Record<string, string>>;
}

/**
 * Parses the group in `env.bosh`. `groups` is six names: director, deployment and instance group first, and
 * the three in one last (bosh-director: deployment_plan/steps/create_vm_step.rb). If it is anything else, it
 * is unknown which name is which, so there are no group labels.
 */
export function parseInstanceGroup(env: Field): InstanceGroup {
  const bosh = env.get('bosh');
  const groups = bosh.get('groups').strings();
  const group = bosh.get('group').optional()?.nonEmptyString() ?? groups.at(-1);
  const [director = '', deployment = '', instanceGroup = ''] = groups;
  if (groups.length !== 6 || groups[5] !== `${director}-${deployment}-${instanceGroup}`)
    return { group, groupLabels: {} };
  const groupLabels = {
    [label.director]: labelValue(director),
    [label.deployment]: labelValue(deployment),
    [label.instanceGroup]: labelValue(instanceGroup),
  };
  return { group, groupLabels };
}
