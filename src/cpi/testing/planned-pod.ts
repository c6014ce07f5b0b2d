import type { Pod } from '../../kubernetes/pod.ts';
import { parseConfig } from '../config.ts';
import { type VmPlan, vmPod } from '../vm/vm-pod.ts';
import { parseVmProperties } from '../vm/vm-properties.ts';

export interface Planned extends Partial<Omit<VmPlan, 'properties'>> {
  /** cloud_properties of the VM. */
  readonly properties?: unknown;
  readonly config?: unknown;
}

/** The pod of VM `vm-a` as create_vm would make it. */
export function plannedPod({ properties, config = {}, ...plan }: Planned = {}): Pod {
  const place = { code: 'INVALID_ARGUMENT', path: 'cloud_properties' } as const;
  const named = { cid: 'vm-a', agentId: 'a', namespace: 'n', image: 'i', group: undefined, groupLabels: {} };
  return vmPod(
    {
      ...named,
      networking: { labels: {}, annotations: {} },
      nameServers: [],
      attach: 'hot',
      directorUuid: undefined,
      ...plan,
      properties: parseVmProperties(properties, place, parseConfig(config, {})),
    },
    'secret-uid',
  );
}
