import { badRequest } from '../errors/status-errors.ts';
import type { Draft, Kind } from '../kinds/kind.ts';
import { decodeCustom } from '../custom/decode-custom.ts';
import { prune } from '../custom/prune.ts';
import { decodeDescribed, decodeObject } from '../schema/decode.ts';
import { strictValidation } from '../schema/field-validation.ts';
import type { FieldValidation } from '../schema/field-validation.ts';
import { isRecord } from '../schema/json.ts';
import type { JsonRecord } from '../schema/json.ts';
import type { StoredObject } from '../store/stored-object.ts';

/** `v1` or `storage.k8s.io/v1`. */
export function apiVersionOf(kind: Kind): string {
  const { group, version } = kind.resource;
  return group === '' ? version : `${group}/${version}`;
}

/** The same of objects in the store. */
function storedApiVersionOf(kind: Kind): string {
  const { resource, storedVersion = resource.version } = kind;
  return apiVersionOf({ ...kind, resource: { ...resource, version: storedVersion } });
}

/** The paths of the fields of a body that its kind does not have. Throws ApiError 400 for a wrong type. */
export function unknownFieldsOf(kind: Kind, body: JsonRecord): readonly string[] {
  const apiVersion = apiVersionOf(kind);
  if (kind.custom === undefined) return decodeDescribed(kind.schema, body, kind.name, apiVersion).unknown;
  const unknown: string[] = [];
  const seen = (message: string): void =>
    void unknown.push(/^unknown field "(.*)"$/.exec(message)?.[1] ?? message);
  const names = { kind: kind.name, apiVersion };
  decodeCustom(kind.custom, body, names, { directive: 'Warn', duplicates: [], warn: seen });
  return unknown;
}

/**
 * An object of the store in the version of that kind: conversion `None` changes apiVersion alone, and the version's
 * schema says which fields it has.
 */
export function inVersionOf(kind: Kind, object: StoredObject): StoredObject {
  const { custom } = kind;
  if (kind.storedVersion === undefined || custom === undefined) return object;
  const { metadata, apiVersion: _stored, ...content } = object;
  const pruned = prune(custom, content, '', []);
  return { ...(isRecord(pruned) ? pruned : {}), apiVersion: apiVersionOf(kind), kind: kind.name, metadata };
}

/**
 * A body as a draft of that kind, its own copy. apiVersion and kind may be left out.
 * Throws ApiError 400 for another kind, a wrong type, and, unless `validation` is lenient, an unknown field.
 */
export function decodeDraft(
  kind: Kind,
  body: unknown,
  validation: FieldValidation = strictValidation,
): Draft {
  const apiVersion = apiVersionOf(kind);
  if (!isRecord(body)) throw badRequest(`the request's body must be a JSON object of kind ${kind.name}`);
  if ((body['kind'] ?? kind.name) !== kind.name) {
    throw badRequest(
      `${printed(body['kind'])} in version ${JSON.stringify(body['apiVersion'] ?? apiVersion)} cannot be handled as a ${kind.name}`,
    );
  }
  if ((body['apiVersion'] ?? apiVersion) !== apiVersion) {
    throw badRequest(
      `the API version in the data (${printed(body['apiVersion'])}) does not match the expected API version (${apiVersion})`,
    );
  }
  const decoded =
    kind.custom === undefined
      ? decodeObject(kind.schema, body, kind.name, apiVersion, validation)
      : decodeCustom(kind.custom, body, { kind: kind.name, apiVersion }, validation);
  const {
    managedFields: _dropped,
    selfLink: _link,
    ...metadata
  } = isRecord(decoded['metadata']) ? decoded['metadata'] : {};
  return {
    ...decoded,
    apiVersion: storedApiVersionOf(kind),
    kind: kind.name,
    metadata: { uid: '', resourceVersion: '', name: '', ...metadata },
  };
}

const printed = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
