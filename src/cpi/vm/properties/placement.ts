import type { Toleration } from '../../../kubernetes/pod.ts';
import { isLabelValue, isQualifiedName } from '../../../kubernetes/names.ts';
import type { Location } from '../../input.ts';
import { child, optionalStringAt, recordAt, invalidValue } from '../../input.ts';
import { tolerationsAt } from './tolerations.ts';
import type { Topic } from './topic.ts';

export interface Placement {
  /** The value of topology.kubernetes.io/zone that the VM's node must have. */
  readonly zone: string | undefined;
  /** Labels that the VM's node must have. */
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly tolerations: readonly Toleration[];
  readonly priorityClass: string | undefined;
  readonly runtimeClass: string | undefined;
}

/**
 * `zone`, `node_selector`, `tolerations`, `priority_class` and `runtime_class`: where the VM may run, and
 * with which priority.
 */
export const placement: Topic<Placement> = {
  keys: ['zone', 'node_selector', 'tolerations', 'priority_class', 'runtime_class'],
  parse: (properties, place) => ({
    zone: zoneAt(properties['zone'], child(place, 'zone')),
    nodeSelector: nodeSelectorAt(properties['node_selector'], child(place, 'node_selector')),
    tolerations: tolerationsAt(properties['tolerations'], child(place, 'tolerations')),
    priorityClass: optionalStringAt(properties['priority_class'], child(place, 'priority_class')),
    runtimeClass: optionalStringAt(properties['runtime_class'], child(place, 'runtime_class')),
  }),
};

function zoneAt(value: unknown, place: Location): string | undefined {
  const zone = optionalStringAt(value, place);
  if (zone !== undefined && !isLabelValue(zone))
    throw invalidValue(place, 'cannot be the value of a node label');
  return zone;
}

/**
 * Labels that other properties or the CPI itself set: a second value would be ignored or contradict the
 * first.
 */
const decided: ReadonlyMap<string, string> = new Map([
  ['topology.kubernetes.io/zone', 'is given as zone'],
  ['kubernetes.io/os', 'is always linux'],
]);

function nodeSelectorAt(value: unknown, place: Location): Record<string, string> {
  const entries = Object.entries(recordAt(value, place));
  for (const [key, wanted] of entries) {
    const decision = decided.get(key);
    if (decision !== undefined) throw invalidValue(child(place, key), decision);
    if (!isQualifiedName(key)) throw invalidValue(child(place, key), 'is not the name of a label');
    if (typeof wanted !== 'string' || !isLabelValue(wanted))
      throw invalidValue(child(place, key), 'has to be a string that can be the value of a label');
  }
  return Object.fromEntries(entries) as Record<string, string>;
}
