import type { ObjectList } from '../../../src/kubernetes/object.ts';
import { badRequest, expired, groupResource, newStatusError } from '../errors/status-errors.ts';
import type { Kind } from '../kinds/kind.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { apiVersionOf } from './decode-draft.ts';
import type { Registry } from './registry.ts';
import { selection, type SelectionQuery } from './selection.ts';
import type { ObjectStore } from '../store/object-store.ts';

interface ListObjectsQuery extends SelectionQuery {
  readonly continue?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly resourceVersionMatch?: string | undefined;
}

/**
 * Returns the current objects, sorted by namespace and name. The list is always whole: `limit` is ignored, as
 * the API convention allows. Items have no apiVersion and kind. Throws ApiError 400 (selectors, a continue
 * token), 410 (an exact version other than the current one), 504 (a version not reached).
 */
export function listObjects(
  registry: Registry,
  kind: Kind,
  query: ListObjectsQuery,
): ObjectList<StoredObject> {
  assertVersionServed(registry, query);
  const { store } = registry;
  const resource = groupResource(kind.resource);
  const name = singleNameSelector(kind, query);
  const objects =
    name === undefined
      ? store.list(resource, query.namespace)
      : [store.get(resource, query.namespace, name) ?? []].flat();
  return {
    kind: `${kind.name}List`,
    apiVersion: apiVersionOf(kind),
    metadata: { resourceVersion: String(store.revision) },
    items: objects.filter(selection(kind, query)).map(withoutType),
  };
}

function assertVersionServed({ store }: Registry, query: ListObjectsQuery): void {
  if ((query.continue ?? '') !== '') {
    throw badRequest(
      'continue key is not valid: this server issues none, because its lists are always whole',
    );
  }
  const revision = parseResourceVersion(query.resourceVersion);
  if (revision !== undefined) assertReached(store, revision);
  if (query.resourceVersionMatch === 'Exact' && revision !== store.revision) {
    throw expired('The resourceVersion for the provided list is too old.');
  }
}

/**
 * Returns the object name that a field selector requires; undefined if it requires none. Clients that wait
 * for one object use such a selector, and the name saves a scan.
 */
function singleNameSelector(
  { resource }: Kind,
  { fieldSelector = '', namespace }: SelectionQuery,
): string | undefined {
  return resource.namespaced && namespace === undefined
    ? undefined
    : /^metadata\.name==?([^\\,=!]+)$/u.exec(fieldSelector)?.[1];
}

function withoutType(object: StoredObject): StoredObject {
  const { kind: _kind, apiVersion: _apiVersion, ...item } = object;
  return item;
}

/**
 * Parses the resourceVersion of a query; returns undefined if it is empty. Throws ApiError 400 if it is not a
 * number.
 */
export function parseResourceVersion(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  if (!/^\d{1,15}$/.test(text))
    throw badRequest(`Invalid value: ${JSON.stringify(text)}: resourceVersion must be a number`);
  return Number(text);
}

/** Throws the ApiError 504 of a server that has not reached that version (this server never will). */
export function assertReached(store: ObjectStore, revision: number): void {
  if (revision <= store.revision) return;
  throw newStatusError(
    504,
    'Timeout',
    `Timeout: Too large resource version: ${revision}, current: ${store.revision}`,
    {
      retryAfterSeconds: 1,
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    },
  );
}
