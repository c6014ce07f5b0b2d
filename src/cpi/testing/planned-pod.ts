import type { PersistentVolumeClaim } from '../../kubernetes/types/storage.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import { Field } from '../../platform/field.ts';
import { parseConfig } from '../config/config.ts';
import { parseNetworks } from '../network/networks.ts';
import { vmClaims } from '../vm/claims.ts';
import type { ClusterFacts, VmPlan, VmSpec } from '../vm/vm-spec.ts';
import { podTemplate } from '../vm/pod.ts';
import { parseVmProperties } from '../vm/properties.ts';
import { withOwner } from '../vm/vms.ts';

/** What differs from the defaults of `vmPlan`. */
export interface Planned extends Partial<Omit<VmSpec, 'properties' | 'networks'>>, Partial<ClusterFacts> {
  /** The cloud_properties of the VM. */
  readonly properties?: unknown;
  readonly config?: unknown;
  /** The name servers of its network. */
  readonly dns?: readonly string[];
  readonly directorUuid?: string;
}

/** Returns VM `vm-a` as create_vm would plan it. */
export function vmPlan(planned: Planned = {}): VmPlan {
  const { properties, config = {}, dns, directorUuid: _, attach, networking, volumeTerms, ...spec } = planned;
  const argument = (name: string, value: unknown): Field => new Field(value, name, 'INVALID_ARGUMENT');
  return {
    spec: {
      ...{ cid: 'vm-a', agentId: 'a', image: 'i', group: undefined, groupLabels: {} },
      ...{ services: [], diskCids: [], settings: '{}' },
      ...spec,
      networks: parseNetworks(argument('networks', { default: { type: 'dynamic', dns } })),
      properties: parseVmProperties(argument('cloud_properties', properties), parseConfig(config, {})),
    },
    facts: {
      attach: attach ?? 'hot',
      networking: networking ?? { labels: {}, annotations: {} },
      volumeTerms: volumeTerms ?? [],
    },
  };
}

const contextOf = ({ directorUuid }: Planned): Parameters<typeof podTemplate>[0] => ({
  namespace: 'n',
  directorUuid,
});

/** Returns the pod of that VM. */
export const plannedPod = (planned: Planned = {}): Pod =>
  withOwner(podTemplate(contextOf(planned), vmPlan(planned)), {
    metadata: { name: 'vm-a', uid: 'secret-uid' },
  });

/** Returns the claims of that VM under `recreate`. */
export const plannedClaims = (planned: Planned = {}): PersistentVolumeClaim[] =>
  vmClaims(contextOf(planned), vmPlan(planned).spec);
