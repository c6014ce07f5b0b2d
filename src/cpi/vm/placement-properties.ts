import type { Toleration } from '../../kubernetes/types/pod.ts';
import { isLabelValue, isQualifiedName } from '../../kubernetes/names.ts';
import {
  type Location,
  child,
  optionalStringAt,
  recordAt,
  invalidValue,
  type Json,
  rejectUnknownKeys,
  stringAt,
} from '../input.ts';
import type { Topic } from './property-topic.ts';

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
const refusedLabels: ReadonlyMap<string, string> = new Map([
  ['topology.kubernetes.io/zone', 'is given as zone'],
  ['kubernetes.io/os', 'is always linux'],
]);

function nodeSelectorAt(value: unknown, place: Location): Record<string, string> {
  const entries = Object.entries(recordAt(value, place));
  for (const [key, wanted] of entries) {
    const decision = refusedLabels.get(key);
    if (decision !== undefined) throw invalidValue(child(place, key), decision);
    if (!isQualifiedName(key)) throw invalidValue(child(place, key), 'is not the name of a label');
    if (typeof wanted !== 'string' || !isLabelValue(wanted))
      throw invalidValue(child(place, key), 'has to be a string that can be the value of a label');
  }
  return Object.fromEntries(entries) as Record<string, string>;
}

/** Parses a list of tolerations; absent means empty. Throws INVALID_ARGUMENT. */
export function tolerationsAt(value: unknown, place: Location): Toleration[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw invalidValue(place, 'has to be a list of tolerations');
  return value.map((item, index) => tolerationAt(recordAt(item, child(place, index)), child(place, index)));
}

const always = 'names a taint that every VM tolerates without end';
const refusedTaints: ReadonlyMap<string, string> = new Map([
  [
    'node.kubernetes.io/out-of-service',
    'names the taint that takes VMs off a lost node, which no VM may tolerate',
  ],
  ['node.kubernetes.io/not-ready', always],
  ['node.kubernetes.io/unreachable', always],
]);

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const;

/**
 * Parses `{key, operator, value, effect, toleration_seconds}`, which mean what they mean in Kubernetes. The
 * key is required: without it the VM would tolerate every taint, also the one by which an operator takes VMs
 * off a lost node (node.kubernetes.io/out-of-service).
 */
function tolerationAt(item: Json, place: Location): Toleration {
  rejectUnknownKeys(item, ['key', 'operator', 'value', 'effect', 'toleration_seconds'], place);
  const key = keyAt(item['key'], child(place, 'key'));
  const operator = item['operator'] ?? 'Equal';
  if (operator !== 'Equal' && operator !== 'Exists')
    throw invalidValue(child(place, 'operator'), 'has to be Equal or Exists');
  const value = valueAt(item['value'] ?? undefined, child(place, 'value'), operator);
  const effect = effectAt(item['effect'] ?? undefined, child(place, 'effect'));
  const seconds = item['toleration_seconds'] ?? undefined;
  if (seconds !== undefined && (!Number.isSafeInteger(seconds) || effect !== 'NoExecute'))
    throw invalidValue(
      child(place, 'toleration_seconds'),
      'has to be a whole number and needs the effect NoExecute',
    );
  return {
    key,
    operator,
    ...(value !== undefined && { value }),
    ...(effect !== undefined && { effect }),
    ...(seconds !== undefined && { tolerationSeconds: Number(seconds) }),
  };
}

function keyAt(given: unknown, place: Location): string {
  const key = stringAt(given, place);
  if (!isQualifiedName(key)) throw invalidValue(place, 'is not the key of a taint');
  const decision = refusedTaints.get(key);
  if (decision !== undefined) throw invalidValue(place, decision);
  return key;
}

function valueAt(value: unknown, place: Location, operator: 'Equal' | 'Exists'): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== 'string' || !isLabelValue(value))
    throw invalidValue(place, 'has to be a string that can be the value of a label');
  if (operator === 'Exists' && value !== '')
    throw invalidValue(place, 'cannot be given with the operator Exists');
  return value;
}

function effectAt(given: unknown, place: Location): (typeof effects)[number] | undefined {
  const effect = effects.find((one) => one === given);
  if (given !== undefined && effect === undefined)
    throw invalidValue(place, `has to be one of ${effects.join(', ')}`);
  return effect;
}

/** The node label of a zone (kubernetes: well-known labels), which the cloud property `zone` sets. */
export const zoneLabel = 'topology.kubernetes.io/zone';
