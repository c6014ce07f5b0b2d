import type { CpiConfig, EphemeralDisk } from '../config.ts';
import { parseEphemeralDisk } from '../config.ts';
import type { Place } from '../input.ts';
import { at, optionalStringAt, recordAt, refuseUnknownKeys, stringsAt } from '../input.ts';
import type { Resources } from './resources.ts';
import { parseResources } from './resources.ts';

export interface VmProperties {
  readonly resources: Resources;
  readonly ephemeralDisk: EphemeralDisk;
  readonly priorityClass: string | undefined;
  readonly serviceAccount: string | undefined;
  readonly imagePullSecrets: readonly string[];
}

const known = ['resources', 'ephemeral_disk', 'priority_class', 'service_account', 'image_pull_secrets'];

/** cloud_properties of a VM over the configured defaults. Unknown keys are refused by name. */
export function parseVmProperties(value: unknown, place: Place, config: CpiConfig): VmProperties {
  const properties = recordAt(value, place);
  refuseUnknownKeys(properties, known, place);
  const resources = parseResources(properties['resources'], at(place, 'resources'));
  const { defaults, kubernetes } = config;
  return {
    resources: {
      requests: { ...defaults.resources.requests, ...resources.requests },
      limits: { ...defaults.resources.limits, ...resources.limits },
    },
    ephemeralDisk: parseEphemeralDisk(
      properties['ephemeral_disk'],
      at(place, 'ephemeral_disk'),
      defaults.ephemeralDisk,
    ),
    priorityClass: optionalStringAt(properties['priority_class'], at(place, 'priority_class')),
    serviceAccount: optionalStringAt(properties['service_account'], at(place, 'service_account')),
    imagePullSecrets: [
      ...kubernetes.imagePullSecrets,
      ...stringsAt(properties['image_pull_secrets'], at(place, 'image_pull_secrets')),
    ],
  };
}
