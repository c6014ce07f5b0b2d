import { isRecord } from '../schema/json.ts';
import type { JsonRecord } from '../schema/json.ts';
import type { Schema } from '../schema/schema.ts';

/** The schema of a member; of one that is not described, one that replaces whatever was there. */
export function memberOf(schema: Schema, key: string): Schema {
  if (schema.type === 'map') return schema.values;
  const known =
    schema.type === 'object' && Object.hasOwn(schema.fields, key) ? schema.fields[key] : undefined;
  return known ?? { type: 'anything' };
}

/** Assignment that takes `__proto__` for the plain key that it is in JSON. */
export function setMember(record: JsonRecord, key: string, value: unknown): void {
  Object.defineProperty(record, key, { value, writable: true, enumerable: true, configurable: true });
}

/** A copy of what a patch brings anew: no directives, no nulls, no items that it deletes. */
export function withoutDirectives(value: unknown): unknown {
  if (Array.isArray(value)) {
    return value
      .filter((item) => !(isRecord(item) && Object.hasOwn(item, '$patch') && item['$patch'] === 'delete'))
      .map(withoutDirectives);
  }
  if (!isRecord(value)) return value;
  const entries = Object.entries(value)
    .filter(([key, item]) => !key.startsWith('$') && item !== null)
    .map(([key, item]) => [key, withoutDirectives(item)] as const);
  return Object.fromEntries(entries);
}
