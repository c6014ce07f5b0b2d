import { isLabelValue, isQualifiedName } from '../../../kubernetes/names.ts';
import type { Toleration } from '../../../kubernetes/pod.ts';
import type { Json, Location } from '../../input.ts';
import { child, recordAt, rejectUnknownKeys, stringAt, invalidValue } from '../../input.ts';

/** Parses a list of tolerations; absent means empty. Throws INVALID_ARGUMENT. */
export function tolerationsAt(value: unknown, place: Location): Toleration[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw invalidValue(place, 'has to be a list of tolerations');
  return value.map((item, index) => tolerationAt(recordAt(item, child(place, index)), child(place, index)));
}

const always = 'names a taint that every VM tolerates without end';
const decided: ReadonlyMap<string, string> = new Map([
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
  const decision = decided.get(key);
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
