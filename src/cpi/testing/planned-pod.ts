import type { Pod } from '../../kubernetes/types/pod.ts';
import { parseConfig } from '../config/config.ts';
import type { VmPlan } from '../vm/plan-vm.ts';
import { vmPod } from '../vm/pod.ts';
import { parseVmProperties } from '../vm/properties.ts';
import { Field } from '../../platform/field.ts';

export interface Planned extends Partial<Omit<VmPlan, 'properties'>> {
  /** The cloud_properties of the VM. */
  readonly properties?: unknown;
  readonly config?: unknown;
}

/** Returns VM `vm-a` as create_vm would plan it. */
export function vmPlan({ properties, config = {}, ...plan }: Planned = {}): VmPlan {
  const named = { cid: 'vm-a', agentId: 'a', namespace: 'n', image: 'i', group: undefined, groupLabels: {} };
  return {
    ...named,
    networking: { labels: {}, annotations: {} },
    nameServers: [],
    attach: 'hot',
    directorUuid: undefined,
    ...plan,
    properties: parseVmProperties(
      new Field(properties, 'cloud_properties', 'INVALID_ARGUMENT'),
      parseConfig(config, {}),
    ),
  };
}

/** Returns the pod of that VM. */
export const plannedPod = (planned: Planned = {}): Pod => vmPod(vmPlan(planned), 'secret-uid');
