import { decodeDescribed } from '../schema/decode.ts';
import { judgeFields } from '../schema/field-validation.ts';
import type { FieldValidation } from '../schema/field-validation.ts';
import { isRecord } from '../schema/json.ts';
import type { JsonRecord } from '../schema/json.ts';
import { kindSchema } from '../schema/schema.ts';
import { prune } from './prune.ts';
import type { StructuralSchema } from './structural-schema.ts';

const shell = kindSchema({});

/**
 * A custom resource's body: metadata decoded as for every kind, the rest pruned to what its schema describes.
 * Throws ApiError 400 for metadata of the wrong type, and for unknown fields where `validation` says so.
 */
export function decodeCustom(
  schema: StructuralSchema,
  body: JsonRecord,
  { kind, apiVersion }: { readonly kind: string; readonly apiVersion: string },
  validation: FieldValidation,
): JsonRecord {
  const { apiVersion: _apiVersion, kind: _kind, metadata, ...content } = body;
  const described = decodeDescribed(shell, { metadata }, kind, apiVersion);
  const unknown = [...described.unknown];
  const pruned = prune(schema, content, '', unknown);
  judgeFields({ kind, apiVersion, isRelied: () => false }, unknown, validation);
  return { ...described.decoded, ...(isRecord(pruned) ? pruned : {}) };
}
