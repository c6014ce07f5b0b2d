import { decodeObject, strictDecodingError } from '../schema/decode.ts';
import { isRecord } from '../schema/json.ts';
import type { JsonRecord } from '../schema/json.ts';
import { kindSchema } from '../schema/schema.ts';
import { prune } from './prune.ts';
import type { StructuralSchema } from './structural-schema.ts';

const shell = kindSchema({});

/**
 * A custom resource's body: metadata decoded as for every kind, the rest as its schema describes it.
 * Throws ApiError 400 for a field that neither knows, and for metadata of the wrong type.
 */
export function decodeCustom(
  schema: StructuralSchema,
  body: JsonRecord,
  kind: string,
  apiVersion: string,
): JsonRecord {
  const { apiVersion: _apiVersion, kind: _kind, metadata, ...content } = body;
  const decoded = decodeObject(shell, { metadata }, kind, apiVersion);
  const unknown: string[] = [];
  const pruned = prune(schema, content, '', unknown);
  if (unknown.length > 0) throw strictDecodingError(unknown, kind, apiVersion);
  return { ...decoded, ...(isRecord(pruned) ? pruned : {}) };
}
