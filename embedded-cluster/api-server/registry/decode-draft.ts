import { badRequest } from '../errors/status-errors.ts';
import type { MutableObject, Kind } from '../kinds/kind.ts';
import { decodeObject } from '../schema/decode.ts';
import type { DecodeOptions } from '../schema/decode.ts';
import { isRecord } from '../schema/json.ts';

/** Returns `v1` or `storage.k8s.io/v1`. */
export function apiVersionOf(kind: Kind): string {
  const { group, version } = kind.resource;
  return group === '' ? version : `${group}/${version}`;
}

/**
 * Decodes a body as a draft of that kind, which is a private copy. apiVersion and kind may be absent. Throws
 * ApiError 400 for another kind, a wrong type, and an unknown or duplicate field.
 */
export function decodeDraft(kind: Kind, body: unknown, options?: DecodeOptions): MutableObject {
  const apiVersion = apiVersionOf(kind);
  if (!isRecord(body)) throw badRequest(`the request's body must be a JSON object of kind ${kind.name}`);
  if ((body['kind'] ?? kind.name) !== kind.name) {
    throw badRequest(
      `${formatValue(body['kind'])} in version ${JSON.stringify(body['apiVersion'] ?? apiVersion)} cannot be handled as a ${kind.name}`,
    );
  }
  if ((body['apiVersion'] ?? apiVersion) !== apiVersion) {
    throw badRequest(
      `the API version in the data (${formatValue(body['apiVersion'])}) does not match the expected API version (${apiVersion})`,
    );
  }
  const decoded = decodeObject(kind.schema, body, kind.name, apiVersion, options);
  const {
    managedFields: _dropped,
    selfLink: _link,
    ...metadata
  } = isRecord(decoded['metadata']) ? decoded['metadata'] : {};
  return {
    ...decoded,
    apiVersion,
    kind: kind.name,
    metadata: { uid: '', resourceVersion: '', name: '', ...metadata },
  };
}

const formatValue = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));
