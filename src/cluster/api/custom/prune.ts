import { isRecord } from '../schema/json.ts';
import { keepsUnknown, memberOf, memberPath } from './structural-schema.ts';
import type { StructuralSchema } from './structural-schema.ts';

/** What a value lost, by path. */
export type Unknown = string[];

/**
 * A copy of `value` without the members that the schema does not describe; their paths are added to `unknown`
 * (apiextensions pkg/apiserver/schema/pruning). Never throws: what has the wrong type is for validation.
 */
export function prune(schema: StructuralSchema, value: unknown, path: string, unknown: Unknown): unknown {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined
      ? structuredClone(value)
      : value.map((item, index) => prune(items, item, `${path}[${index}]`, unknown));
  }
  if (!isRecord(value)) return value;
  const entries = Object.entries(value).flatMap(([key, item]) => {
    const at = memberPath(path, key);
    const member = memberOf(schema, key);
    if (member !== undefined) return [[key, prune(member, item, at, unknown)] as const];
    if (keepsUnknown(schema)) return [[key, structuredClone(item)] as const];
    unknown.push(at);
    return [];
  });
  return Object.fromEntries(entries);
}
