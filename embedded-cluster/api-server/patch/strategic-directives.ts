import { isRecord } from '../schema/json.ts';
import type { JsonRecord } from '../schema/json.ts';
import type { Schema } from '../schema/schema.ts';

/**
 * Returns the schema of a member. If the schema does not describe the member, returns one that replaces the
 * value.
 */
export function memberOf(schema: Schema, key: string): Schema {
  if (schema.type === 'map') return schema.values;
  const known =
    schema.type === 'object' && Object.hasOwn(schema.fields, key) ? schema.fields[key] : undefined;
  return known ?? { type: 'anything' };
}

/** Sets a member. Unlike an assignment, it treats `__proto__` as a plain key, as JSON does. */
export function setMember(record: JsonRecord, key: string, value: unknown): void {
  Object.defineProperty(record, key, { value, writable: true, enumerable: true, configurable: true });
}

/** Returns a copy of a new value of a patch, without directives, nulls, and items that the patch deletes. */
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
