import { copyJson, isRecord } from '../schema/json.ts';
import type { JsonRecord } from '../schema/json.ts';
import { memberOf } from './structural-schema.ts';
import type { StructuralSchema } from './structural-schema.ts';

/**
 * Fills the defaults of a schema into `value`, in place, at every depth. A null where null is not allowed and a
 * default exists counts as absent (apiextensions pkg/apiserver/schema/defaulting). Idempotent.
 */
export function fillStructuralDefaults(schema: StructuralSchema, value: unknown): void {
  if (Array.isArray(value)) {
    const { items } = schema;
    if (items !== undefined) for (const item of value) fillStructuralDefaults(items, item);
    return;
  }
  if (!isRecord(value)) return;
  for (const [key, member] of Object.entries(schema.properties ?? {})) fillMember(value, key, member);
  for (const [key, item] of Object.entries(value)) {
    const member = memberOf(schema, key);
    if (member !== undefined) fillStructuralDefaults(member, item);
  }
}

function fillMember(record: JsonRecord, key: string, member: StructuralSchema): void {
  if (member.default === undefined) return;
  const present = Object.hasOwn(record, key) ? record[key] : undefined;
  if (present !== undefined && (present !== null || member.nullable === true)) return;
  Object.defineProperty(record, key, {
    value: copyJson(member.default),
    writable: true,
    enumerable: true,
    configurable: true,
  });
}
