import type { Place } from '../input.ts';
import { at, recordAt, refuseUnknownKeys } from '../input.ts';
import type { Profile } from '../vm/profile.ts';
import { optionalProfileAt } from '../vm/profile.ts';
import type { Resources } from '../vm/resources.ts';
import { overDefaults, parseResources } from '../vm/resources.ts';
import type { EphemeralDisk } from './ephemeral-disk.ts';
import { parseEphemeralDisk } from './ephemeral-disk.ts';

/** What VMs get whose cloud_properties do not say otherwise. */
export interface Defaults {
  readonly resources: Resources;
  readonly ephemeralDisk: EphemeralDisk;
  readonly profile: Profile;
}

/** The section `defaults`. Throws INVALID_CONFIG. */
export function parseDefaults(value: unknown, place: Place): Defaults {
  const section = recordAt(value, place);
  refuseUnknownKeys(section, ['resources', 'ephemeral_disk', 'profile'], place);
  const resources = parseResources(section['resources'], at(place, 'resources'));
  return {
    // a VM without requests would be the first that a node under pressure evicts
    resources: overDefaults(resources, { requests: { cpu: '100m', memory: '128Mi' }, limits: {} }),
    ephemeralDisk: parseEphemeralDisk(section['ephemeral_disk'], at(place, 'ephemeral_disk'), {
      sizeMiB: 1024,
      storageClass: undefined,
    }),
    profile: optionalProfileAt(section['profile'], at(place, 'profile')) ?? 'privileged',
  };
}
