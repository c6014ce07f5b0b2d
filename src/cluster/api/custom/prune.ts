import { decodeDescribed } from '../schema/decode.ts';
import { copyJson, isRecord } from '../schema/json.ts';
import { kindSchema } from '../schema/schema.ts';
import { keepsUnknown, memberOf, memberPath } from './structural-schema.ts';
import type { StructuralSchema } from './structural-schema.ts';

const shell = kindSchema({});

/** What a value lost, by path. */
export type Unknown = string[];

/**
 * A copy of `value` without the members that the schema does not describe; their paths are added to `unknown`
 * (apiextensions pkg/apiserver/schema/pruning). What has the wrong type is for validation, but for
 * the metadata of an embedded object: throws ApiError 400 for that.
 */
export function prune(schema: StructuralSchema, value: unknown, path: string, unknown: Unknown): unknown {
  if (Array.isArray(value)) {
    const { items } = schema;
    return items === undefined
      ? copyJson(value)
      : value.map((item, index) => prune(items, item, `${path}[${index}]`, unknown));
  }
  if (!isRecord(value)) return value;
  const isObject = schema['x-kubernetes-embedded-resource'] === true;
  const entries = Object.entries(value).flatMap(([key, item]) => {
    const at = memberPath(path, key);
    if (isObject && key === 'metadata') return [[key, pruneMetadata(item, path, unknown)] as const];
    if (isObject && (key === 'apiVersion' || key === 'kind')) return [[key, item] as const];
    const member = memberOf(schema, key);
    if (member !== undefined) return [[key, prune(member, item, at, unknown)] as const];
    if (keepsUnknown(schema)) return [[key, copyJson(item)] as const];
    unknown.push(at);
    return [];
  });
  return Object.fromEntries(entries);
}

/** Of an object within an object (x-kubernetes-embedded-resource): as the metadata of any object. */
function pruneMetadata(metadata: unknown, path: string, unknown: Unknown): unknown {
  const described = decodeDescribed(shell, { metadata }, 'object', path);
  unknown.push(...described.unknown.map((field) => memberPath(path, field)));
  return described.decoded['metadata'] ?? {};
}
