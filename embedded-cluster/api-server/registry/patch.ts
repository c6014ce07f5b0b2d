import type { ApiError } from '../../../src/kubernetes/client/api-error.ts';
import { invalidValue } from '../errors/field-causes.ts';
import { badRequest, newStatusError, unsupportedMediaType } from '../errors/status-errors.ts';
import type { Kind } from '../kinds/kind.ts';
import { applyJsonPatch } from '../patch/json-patch.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import { applyStrategicMergePatch } from '../patch/strategic-merge-patch.ts';
import { validateUnknownFields, strictValidation } from '../schema/field-validation.ts';
import { isRecord } from '../schema/json.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { apiVersionOf } from './decode-draft.ts';
import { getObject, type Location, type Registry } from './registry.ts';
import { updateObject, type UpdateOptions } from './update.ts';

const patchTypes = [
  'application/json-patch+json',
  'application/merge-patch+json',
  'application/strategic-merge-patch+json',
] as const;

export interface PatchOptions extends UpdateOptions {
  readonly type: string;
}

/**
 * Serves PATCH. A resourceVersion in the patch makes it conditional. Throws ApiError 400, 404, 409, 413, 415
 * (unknown type), 422.
 */
export function patchObject(
  registry: Registry,
  kind: Kind,
  location: Location,
  patch: unknown,
  options: PatchOptions,
): StoredObject {
  const apply = patchFunction(kind, options.type);
  const current = getObject(registry, kind, location);
  const patched = apply(current, patch);
  const { fieldValidation = strictValidation } = options;
  const judged = { ...options, fieldValidation: { ...fieldValidation, refuse: patchError(patch) } };
  validateJsonPatchFields(kind, patch, judged);
  return updateObject(registry, kind, location, patched, judged);
}

/**
 * Returns the error for fields that are not allowed. They make a patch invalid (422), but a whole object a
 * bad request (handlers/patch.go).
 */
const patchError =
  (patch: unknown) =>
  (problems: readonly string[]): ApiError => {
    const cause = invalidValue('patch', patch, `strict decoding error: ${problems.join(', ')}`);
    const message = ` "" is invalid: ${cause.field}: ${cause.message}`;
    return newStatusError(422, 'Invalid', message, { causes: [cause] });
  };

/** Treats members of JSON patch operations other than op, path, from and value as unknown fields. */
function validateJsonPatchFields(
  kind: Kind,
  patch: unknown,
  { fieldValidation = strictValidation }: PatchOptions,
): void {
  if (!Array.isArray(patch)) return;
  const unknown = patch.flatMap((operation: object, index) =>
    Object.keys(operation)
      .filter((key) => !['op', 'path', 'from', 'value'].includes(key))
      .map((key) => `[${index}].${key}`),
  );
  const addressee = { kind: kind.name, apiVersion: apiVersionOf(kind), isKubernetesField: () => false };
  validateUnknownFields(addressee, unknown, { ...fieldValidation, duplicates: [] });
}

/**
 * Throws ApiError 415 if this kind cannot be patched with that type. Must be called before the body is read.
 */
export function assertPatchType(kind: Kind, type: string): void {
  if (type.startsWith('application/apply-patch+'))
    throw newStatusError(
      415,
      'UnsupportedMediaType',
      'the embedded cluster does not serve server-side apply: leave out --server-side (docs/operating.md, Limits of the embedded cluster)',
    );
  patchFunction(kind, type);
}

function patchFunction(kind: Kind, type: string): (current: StoredObject, patch: unknown) => unknown {
  switch (type) {
    case 'application/json-patch+json':
      return applyJsonPatch;
    case 'application/merge-patch+json':
      return (current, patch) => applyMergePatch(current, asObject(patch));
    case 'application/strategic-merge-patch+json':
      if (kind.isCustomResource === true) throw unsupportedMediaType([patchTypes[0], patchTypes[1]]);
      return (current, patch) => applyStrategicMergePatch(kind.schema, current, asObject(patch));
    default:
      throw unsupportedMediaType(patchTypes);
  }
}

function asObject(patch: unknown): unknown {
  if (!isRecord(patch)) throw badRequest('a merge patch must be a JSON object');
  return patch;
}
