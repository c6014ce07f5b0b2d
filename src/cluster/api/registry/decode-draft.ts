import { badRequest } from '../errors/status-errors.ts';
import type { Draft, Kind } from '../kinds/kind.ts';
import { decodeCustom } from '../custom/decode-custom.ts';
import { decodeObject } from '../schema/decode.ts';
import { isRecord } from '../schema/json.ts';

/** `v1` or `storage.k8s.io/v1`. */
export function apiVersionOf(kind: Kind): string {
  const { group, version } = kind.resource;
  return group === '' ? version : `${group}/${version}`;
}

/**
 * A body as a draft of that kind, its own copy. apiVersion and kind may be left out.
 * Throws ApiError 400 for another kind, an unknown field, a wrong type.
 */
export function decodeDraft(kind: Kind, body: unknown): Draft {
  const apiVersion = apiVersionOf(kind);
  if (!isRecord(body)) throw badRequest(`the request's body must be a JSON object of kind ${kind.name}`);
  if ((body['kind'] ?? kind.name) !== kind.name) {
    throw badRequest(
      `${String(body['kind'])} in version ${JSON.stringify(body['apiVersion'] ?? apiVersion)} cannot be handled as a ${kind.name}`,
    );
  }
  if ((body['apiVersion'] ?? apiVersion) !== apiVersion) {
    throw badRequest(
      `the API version in the data (${String(body['apiVersion'])}) does not match the expected API version (${apiVersion})`,
    );
  }
  const decoded =
    kind.custom === undefined
      ? decodeObject(kind.schema, body, kind.name, apiVersion)
      : decodeCustom(kind.custom, body, kind.name, apiVersion);
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
