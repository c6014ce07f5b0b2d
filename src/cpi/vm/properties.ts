import { type Topic } from './property-topic.ts';
import { type SecurityProfile, optionalProfileAt } from '../config/profile.ts';
import {
  type Resources,
  parseResources,
  assertWithinLimits,
  withDefaults,
  quantityAt,
} from '../config/resources.ts';
import { type CpiConfig, type EphemeralDisk, parseEphemeralDisk } from '../config/config.ts';
import {
  type Location,
  recordAt,
  rejectUnknownKeys,
  child,
  optionalStringAt,
  stringsAt,
  type Json,
  positiveIntegerAt,
  invalidValue,
  booleanAt,
} from '../input.ts';
import { placement } from './placement-properties.ts';
import { services } from '../service/service-properties.ts';

export interface Access {
  /** Absent: the pod gets no token. */
  readonly serviceAccount: string | undefined;
  /** The secrets of the configuration and of the VM. */
  readonly imagePullSecrets: readonly string[];
}

/** `service_account` and `image_pull_secrets`: the APIs and registries that the VM's pod may use. */
export const access: Topic<Access> = {
  keys: ['service_account', 'image_pull_secrets'],
  parse: (properties, place, { kubernetes }) => ({
    serviceAccount: optionalStringAt(properties['service_account'], child(place, 'service_account')),
    imagePullSecrets: [
      ...kubernetes.imagePullSecrets,
      ...stringsAt(properties['image_pull_secrets'], child(place, 'image_pull_secrets')),
    ],
  }),
};

export interface Compute {
  readonly resources: Resources;
  readonly ephemeralDisk: EphemeralDisk;
}

/**
 * `cpu` (cores: a number or a quantity), `memory` (MiB as a number, or a quantity), `resources` (`{requests,
 * limits}` as in Kubernetes) and `ephemeral_disk` (`{size: MiB, storage_class}`). `cpu` and `memory` are
 * requests. Limits are the operator's choice, so only `resources` sets them. A requested value wins over a
 * default of the configuration that contradicts it.
 */
export const compute: Topic<Compute> = {
  keys: ['cpu', 'memory', 'resources', 'ephemeral_disk'],
  parse: (properties, place, { defaults }) => {
    const resources = parseResources(properties['resources'], child(place, 'resources'));
    const short = shorthandRequests(properties, place);
    for (const name of Object.keys(short)) {
      if (resources.requests[name] === undefined) continue;
      throw invalidValue(
        child(place, name),
        `and ${place.path}.resources.requests.${name} say the same; give one of them`,
      );
    }
    const asked = { requests: { ...resources.requests, ...short }, limits: resources.limits };
    assertWithinLimits(asked, child(place, 'resources'));
    return {
      resources: withDefaults(asked, defaults.resources),
      ephemeralDisk: ephemeralDiskOf(properties, place, defaults),
    };
  },
};

function shorthandRequests(properties: Json, place: Location): Record<string, string> {
  const cpu = properties['cpu'] ?? undefined;
  const memory = properties['memory'] ?? undefined;
  return {
    ...(cpu !== undefined && { cpu: quantityAt(cpu, child(place, 'cpu')) }),
    ...(memory !== undefined && { memory: memoryAt(memory, child(place, 'memory')) }),
  };
}

/** Returns a quantity. A number is MiB, as everywhere in BOSH. */
function memoryAt(value: unknown, place: Location): string {
  return typeof value === 'number' ? `${positiveIntegerAt(value, place)}Mi` : quantityAt(value, place);
}

function ephemeralDiskOf(
  properties: Json,
  place: Location,
  { ephemeralDisk }: CpiConfig['defaults'],
): EphemeralDisk {
  return parseEphemeralDisk(properties['ephemeral_disk'], child(place, 'ephemeral_disk'), ephemeralDisk);
}

export interface Disruption {
  /** The VM's group has a PodDisruptionBudget. */
  readonly budget: boolean;
}

/** `disruption_budget`: true for a group of which a drain may take one VM at a time; off by default. */
export const disruption: Topic<Disruption> = {
  keys: ['disruption_budget'],
  parse: (properties, place) => ({
    budget: booleanAt(properties['disruption_budget'], child(place, 'disruption_budget')) ?? false,
  }),
};

export interface Privilege {
  readonly profile: SecurityProfile;
}

/** `profile`: the access that the VM's container has to the node. */
export const privilege: Topic<Privilege> = {
  keys: ['profile'],
  parse: (properties, place, { defaults }) => ({
    profile: optionalProfileAt(properties['profile'], child(place, 'profile')) ?? defaults.profile,
  }),
};

/** The topics of the cloud_properties. A new one is added here and in parseVmProperties. */
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
