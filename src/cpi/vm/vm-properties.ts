import type { CpiConfig } from '../config.ts';
import type { Location } from '../input.ts';
import { recordAt, rejectUnknownKeys } from '../input.ts';
import { access } from './properties/access.ts';
import { compute } from './properties/compute.ts';
import { disruption } from './properties/disruption.ts';
import { placement } from './properties/placement.ts';
import { privilege } from './properties/privilege.ts';
import { services } from './properties/services.ts';

/** Each topic of the cloud_properties has a file in `properties`; a new one is added here, in two lines. */
const topics = { compute, placement, disruption, access, privilege, services };

export type VmProperties = {
  readonly [Name in keyof typeof topics]: ReturnType<(typeof topics)[Name]['parse']>;
};

/** All keys that a VM's cloud_properties may have. */
export const vmPropertyKeys: readonly string[] = Object.values(topics).flatMap(({ keys }) => keys);

/** Parses the cloud_properties of a VM over the configured defaults. Rejects unknown keys by name. */
export function parseVmProperties(value: unknown, place: Location, config: CpiConfig): VmProperties {
  const properties = recordAt(value, place);
  rejectUnknownKeys(properties, vmPropertyKeys, place);
  return {
    compute: topics.compute.parse(properties, place, config),
    placement: topics.placement.parse(properties, place, config),
    disruption: topics.disruption.parse(properties, place, config),
    access: topics.access.parse(properties, place, config),
    privilege: topics.privilege.parse(properties, place, config),
    services: topics.services.parse(properties, place, config),
  };
}
