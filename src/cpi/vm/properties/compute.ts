import type { CpiConfig } from '../../config.ts';
import type { EphemeralDisk } from '../../config/ephemeral-disk.ts';
import { parseEphemeralDisk } from '../../config/ephemeral-disk.ts';
import type { Json, Location } from '../../input.ts';
import { child, positiveIntegerAt, invalidValue } from '../../input.ts';
import type { Resources } from '../resources.ts';
import { withDefaults, parseResources, quantityAt, assertWithinLimits } from '../resources.ts';
import type { Topic } from './topic.ts';

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
