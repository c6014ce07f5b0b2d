import { type Topic } from './property-topic.ts';
import { type SecurityProfile, profiles } from '../config/profile.ts';
import {
  type Resources,
  parseResources,
  assertWithinLimits,
  withDefaults,
  readQuantity,
} from '../config/resources.ts';
import { type CpiConfig, type EphemeralDisk, parseEphemeralDisk } from '../config/config.ts';
import { quantityRange } from '../../kubernetes/types/quantity.ts';
import type { Field } from '../../platform/field.ts';
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
  parse: (properties, { kubernetes }) => ({
    serviceAccount: properties.get('service_account').optional()?.nonEmptyString(),
    imagePullSecrets: [...kubernetes.imagePullSecrets, ...properties.get('image_pull_secrets').strings()],
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
  parse: (properties, { defaults }) => {
    const resources = parseResources(properties.get('resources'));
    const short = shorthandRequests(properties);
    for (const name of Object.keys(short)) {
      if (resources.requests[name] === undefined) continue;
      const { path } = properties.get('resources').get('requests').get(name);
      throw properties.get(name).error(`and ${path} set the same value; give only one of them`);
    }
    const requested = { requests: { ...resources.requests, ...short }, limits: resources.limits };
    assertWithinLimits(requested, properties.get('resources'));
    return {
      resources: withDefaults(requested, defaults.resources),
      ephemeralDisk: parseEphemeralDisk(properties.get('ephemeral_disk'), defaults.ephemeralDisk),
    };
  },
};

/** Returns the requests of a VM whose ephemeral disk is a folder of its node, unless it has a storage class. */
export const requestsOnNode = ({ resources, ephemeralDisk }: Compute): Record<string, string> => ({
  ...resources.requests,
  ...(ephemeralDisk.storageClass === undefined && { 'ephemeral-storage': `${ephemeralDisk.sizeMiB}Mi` }),
});

function shorthandRequests(properties: Field): Record<string, string> {
  const cpu = properties.get('cpu');
  const memory = properties.get('memory');
  return {
    ...(cpu.isPresent && { cpu: readQuantity(cpu) }),
    ...(memory.isPresent && { memory: readMemory(memory) }),
  };
}

/** Returns a quantity. A number is MiB, as everywhere in BOSH. */
function readMemory(field: Field): string {
  return typeof field.value === 'number' ? `${field.integer(quantityRange)}Mi` : readQuantity(field);
}

export interface Disruption {
  /** The VM's group has a PodDisruptionBudget. */
  readonly budget: boolean;
}

/** `disruption_budget`: true for a group of which a drain may take one VM at a time; off by default. */
export const disruption: Topic<Disruption> = {
  keys: ['disruption_budget'],
  parse: (properties) => ({
    budget: properties.get('disruption_budget').optional()?.boolean() ?? false,
  }),
};

export interface Privilege {
  readonly profile: SecurityProfile;
}

/** `profile`: the access that the VM's container has to the node. */
export const privilege: Topic<Privilege> = {
  keys: ['profile'],
  parse: (properties, { defaults }) => ({
    profile: properties.get('profile').optional()?.oneOf(profiles) ?? defaults.profile,
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
export function parseVmProperties(properties: Field, config: CpiConfig): VmProperties {
  properties.rejectUnknownKeys(vmPropertyKeys);
  return {
    compute: topics.compute.parse(properties, config),
    placement: topics.placement.parse(properties, config),
    disruption: topics.disruption.parse(properties, config),
    access: topics.access.parse(properties, config),
    privilege: topics.privilege.parse(properties, config),
    services: topics.services.parse(properties, config),
  };
}
