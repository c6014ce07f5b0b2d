import { invalidValue, required, unsupportedValue } from '../../errors/field-causes.ts';
import type { Cause } from '../../errors/field-causes.ts';
import { isRecord } from '../../schema/json.ts';
import { fields, string, time } from '../../schema/schema.ts';
import type { StoredObject } from '../../store/stored-object.ts';
import { valueAt } from '../columns.ts';

/** VolumeSnapshotError. */
export const snapshotError = fields({ message: string, time });

/**
 * Returns the causes for `spec.source`, which has exactly one of two members (definitions of
 * external-snapshotter 8.6).
 */
export function checkSource(object: StoredObject, keys: readonly [string, string]): Cause[] {
  const source = valueAt(object, 'spec', 'source');
  if (!isRecord(source)) return [required('spec.source')];
  const count = keys.filter((key) => source[key] !== undefined).length;
  if (count === 1) return [];
  const message = `Invalid value: exactly one of ${keys.join(' and ')} must be set`;
  return [{ reason: 'FieldValueInvalid', message, field: 'spec.source' }];
}

/** Returns the causes for an update: each member of `spec.source` that is set must not change. */
export function checkSourceImmutable(
  object: StoredObject,
  current: StoredObject,
  keys: readonly [string, string],
): Cause[] {
  return keys.flatMap((key) => {
    const [value, former] = [valueAt(object, 'spec', 'source', key), valueAt(current, 'spec', 'source', key)];
    if (former === undefined || value === former) return [];
    return value === undefined
      ? [invalidValue('spec.source', 'object', `${key} is required once set`)]
      : [invalidValue(`spec.source.${key}`, value, `${key} is immutable`)];
  });
}

const policies = ['Delete', 'Retain'];

/** Returns the causes for a required deletion policy. */
export function checkDeletionPolicy(field: string, policy: unknown): Cause[] {
  if (policy === undefined) return [required(field)];
  return policies.some((known) => known === policy) ? [] : [unsupportedValue(field, policy, policies)];
}

/** Returns the causes for required members of an object that are missing. */
export function checkRequired(path: string, value: unknown, keys: readonly string[]): Cause[] {
  return keys
    .filter((key) => !isRecord(value) || value[key] === undefined)
    .map((key) => required(path === '' ? key : `${path}.${key}`));
}
