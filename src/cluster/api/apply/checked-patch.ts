import { required } from '../errors/field-causes.ts';
import { badRequest, invalid, statusError } from '../errors/status-errors.ts';
import type { Kind } from '../kinds/kind.ts';
import { apiVersionOf, unknownFieldsOf } from '../registry/decode-draft.ts';
import type { Location } from '../registry/registry.ts';
import type { FieldValidation } from '../schema/field-validation.ts';
import { isRecord } from '../schema/json.ts';
import type { JsonRecord } from '../schema/json.ts';
import type { StoredObject } from '../store/stored-object.ts';

interface PatchOptions {
  readonly fieldManager: string;
  readonly fieldValidation?: FieldValidation | undefined;
}

type GivenMetadata = Partial<StoredObject['metadata']>;

/**
 * The body of an apply as the object that it is meant for, with that object's name. Throws ApiError 400 and 500 (body)
 * and 422 (no field manager).
 */
export function checkedPatch(
  kind: Kind,
  location: Location,
  body: unknown,
  { fieldManager, fieldValidation }: PatchOptions,
): StoredObject {
  if (fieldManager === '') {
    throw invalid('PatchOptions', 'meta.k8s.io', '', [
      required('fieldManager', 'is required for apply patch'),
    ]);
  }
  if (!isRecord(body) || !isRecord(body['metadata'] ?? {}))
    throw badRequest('an apply patch must be an object');
  const apiVersion = apiVersionOf(kind);
  if (body['kind'] !== kind.name || body['apiVersion'] !== apiVersion) {
    throw badRequest(`an apply patch must say apiVersion ${apiVersion} and kind ${kind.name}`);
  }
  const metadata = (body['metadata'] ?? {}) as GivenMetadata;
  assertMeans(location, metadata);
  if (metadata.managedFields !== undefined) throw badRequest('metadata.managedFields must be nil');
  assertKnowsFields(kind, location, body);
  if (fieldValidation !== undefined) judgeDuplicates(fieldValidation);
  return { ...body, metadata: { ...metadata, name: location.name } } as StoredObject;
}

function assertMeans({ namespace, name }: Location, metadata: GivenMetadata): void {
  if ((metadata.name ?? name) !== name) {
    throw badRequest(
      `the name of the object (${metadata.name}) does not match the name on the URL (${name})`,
    );
  }
  if (metadata.namespace !== undefined && metadata.namespace !== (namespace ?? '')) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
}

function assertKnowsFields(kind: Kind, { namespace, name }: Location, body: JsonRecord): void {
  const unknown = unknownFieldsOf(kind, body);
  if (unknown.length === 0) return;
  const object = `${namespace === undefined ? '' : `${namespace}/`}${name}`;
  const where = `${object}; ${apiVersionOf(kind)}, Kind=${kind.name}`;
  const list = unknown.map((path) => `.${path}: field not declared in schema`).join(', ');
  throw statusError(500, '', `failed to create typed patch object (${where}): ${list}`);
}

/** Fields that the body has more than once. */
function judgeDuplicates({ directive, duplicates, warn }: FieldValidation): void {
  if (directive === 'Strict' && duplicates.length > 0) {
    throw badRequest(`error decoding YAML: error converting YAML to JSON: ${duplicates.join(', ')}`);
  }
  if (directive === 'Warn') for (const one of duplicates) warn(one);
}
