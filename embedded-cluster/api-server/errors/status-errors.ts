import { ApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { Resource } from '../../../src/kubernetes/api.ts';
import type { Status } from '../../../src/kubernetes/object.ts';
import type { Cause } from './field-causes.ts';

/** Returns a resource as error texts and store keys name it: `pods`, or `storageclasses.storage.k8s.io`. */
export function groupResource(resource: Pick<Resource, 'group' | 'plural'>): string {
  return resource.group === '' ? resource.plural : `${resource.plural}.${resource.group}`;
}

/**
 * Returns an ApiError with a complete Status body. Texts, reasons and codes of all functions here are those
 * of apimachinery pkg/api/errors/errors.go, because clients match on them.
 */
export function newStatusError(
  code: number,
  reason: string,
  message: string,
  details?: Status['details'],
): ApiError {
  return new ApiError({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason,
    ...(details === undefined ? {} : { details }),
    code,
  });
}

function detailsOf(resource: Resource, name: string): NonNullable<Status['details']> {
  return { name, ...(resource.group === '' ? {} : { group: resource.group }), kind: resource.plural };
}

export function notFound(resource: Resource, name: string): ApiError {
  return newStatusError(
    404,
    'NotFound',
    `${groupResource(resource)} "${name}" not found`,
    detailsOf(resource, name),
  );
}

export function alreadyExists(resource: Resource, name: string): ApiError {
  const message = `${groupResource(resource)} "${name}" already exists`;
  return newStatusError(409, 'AlreadyExists', message, detailsOf(resource, name));
}

export function conflict(resource: Resource, name: string, why: string): ApiError {
  const message = `Operation cannot be fulfilled on ${groupResource(resource)} "${name}": ${why}`;
  return newStatusError(409, 'Conflict', message, detailsOf(resource, name));
}

/** Returns the 409 for a write that carries an old resourceVersion. */
export function staleVersion(resource: Resource, name: string): ApiError {
  return conflict(
    resource,
    name,
    'the object has been modified; please apply your changes to the latest version and try again',
  );
}

export function forbidden(resource: Resource, name: string, why: string, causes?: Cause[]): ApiError {
  return newStatusError(403, 'Forbidden', `${groupResource(resource)} "${name}" is forbidden: ${why}`, {
    ...detailsOf(resource, name),
    ...(causes === undefined ? {} : { causes }),
  });
}

/** Returns a 422 with one cause per field, as validation reports it. `causes` must not be empty. */
export function invalid(kind: string, group: string, name: string, causes: readonly Cause[]): ApiError {
  const sentences = causes.map((cause) => `${cause.field}: ${cause.message}`);
  const list = sentences.length === 1 ? sentences.join('') : `[${sentences.join(', ')}]`;
  const qualified = group === '' ? kind : `${kind}.${group}`;
  return newStatusError(422, 'Invalid', `${qualified} "${name}" is invalid: ${list}`, {
    name,
    ...(group === '' ? {} : { group }),
    kind,
    causes: [...causes],
  });
}

export function badRequest(message: string): ApiError {
  return newStatusError(400, 'BadRequest', message);
}

export function expired(message: string): ApiError {
  return newStatusError(410, 'Expired', message);
}

export function methodNotAllowed(): ApiError {
  return newStatusError(
    405,
    'MethodNotAllowed',
    'the server does not allow this method on the requested resource',
    {},
  );
}

/**
 * Returns the 404 for a resource that this server does not serve. As on a real server its details have no
 * name, by which clients distinguish it from an object that does not exist.
 */
export function resourceNotServed({ group, version, plural }: Omit<Resource, 'namespaced'>): ApiError {
  const groupVersion = group === '' ? version : `${group}/${version}`;
  return newStatusError(
    404,
    'NotFound',
    `the embedded cluster does not serve ${plural} of ${groupVersion} (embedded-cluster/README.md, Limits)`,
    { ...(group === '' ? {} : { group }), kind: plural },
  );
}

/** Returns the 404 for a path that this server does not serve. */
export function pathNotFound(): ApiError {
  return newStatusError(404, 'NotFound', 'the server could not find the requested resource', {});
}

export function unsupportedMediaType(accepted: readonly string[]): ApiError {
  return newStatusError(
    415,
    'UnsupportedMediaType',
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
  );
}

export function notAcceptable(offered: readonly string[]): ApiError {
  return newStatusError(
    406,
    'NotAcceptable',
    `only the following media types are accepted: ${offered.join(', ')}`,
  );
}

export function unauthorized(): ApiError {
  return newStatusError(401, 'Unauthorized', 'Unauthorized');
}

export function requestEntityTooLarge(message: string): ApiError {
  return newStatusError(413, 'RequestEntityTooLarge', message);
}

export function headersTooLarge(message: string): ApiError {
  return newStatusError(431, 'RequestHeaderFieldsTooLarge', message);
}

export function unprocessable(message: string): ApiError {
  return newStatusError(422, 'Invalid', message, {});
}

export function internalError(message: string): ApiError {
  return newStatusError(500, 'InternalError', `Internal error occurred: ${message}`, {
    causes: [{ message }],
  });
}

/**
 * Returns the 507 for a write that failed because the disk is full. Kubernetes does not use this code (its
 * store returns 500 there); it is the code of HTTP (RFC 4918 11.5). Clients that retry a 500 gain nothing
 * here. `file`: the path of the journal.
 */
export function insufficientStorage(file: string): ApiError {
  return newStatusError(
    507,
    'InsufficientStorage',
    `no space left for the cluster's journal ${file}: nothing of the request was stored; free space on that disk, and writes work again`,
  );
}
