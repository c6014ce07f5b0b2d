import type { Location } from '../input.ts';
import { child, recordAt, rejectUnknownKeys } from '../input.ts';
import type { SecurityProfile } from '../vm/profile.ts';
import { optionalProfileAt } from '../vm/profile.ts';
import type { Resources } from '../vm/resources.ts';
import { withDefaults, parseResources } from '../vm/resources.ts';
import type { EphemeralDisk } from './ephemeral-disk.ts';
import { parseEphemeralDisk } from './ephemeral-disk.ts';

/** The defaults for VMs whose cloud_properties do not set a value. */
export interface Defaults {
  readonly resources: Resources;
  readonly ephemeralDisk: EphemeralDisk;
  readonly profile: SecurityProfile;
}

/** Parses the section `defaults`. Throws INVALID_CONFIG. */
export function parseDefaults(value: unknown, place: Location): Defaults {
  const section = recordAt(value, place);
  rejectUnknownKeys(section, ['resources', 'ephemeral_disk', 'profile'], place);
  const resources = parseResources(section['resources'], child(place, 'resources'));
  return {
    // a VM without requests would be the first that a node under pressure evicts
    resources: withDefaults(resources, { requests: { cpu: '100m', memory: '128Mi' }, limits: {} }),
    ephemeralDisk: parseEphemeralDisk(section['ephemeral_disk'], child(place, 'ephemeral_disk'), {
      sizeMiB: 1024,
      storageClass: undefined,
    }),
    profile: optionalProfileAt(section['profile'], child(place, 'profile')) ?? 'privileged',
  };
}
