import type { ApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { ObjectList } from '../../../src/kubernetes/object.ts';
import { expired, expiredToken, groupResource } from '../errors/status-errors.ts';
import type { Kind } from '../kinds/kind.ts';
import { objectKey, type StoredObject } from '../store/stored-object.ts';
import { encodeToken } from './continue-token.ts';
import { apiVersionOf } from './decode-draft.ts';
import { listStart, type ListStart, type StartQuery } from './list-start.ts';
import type { Registry } from './registry.ts';
import { selection, type SelectionQuery } from './selection.ts';

export interface ListPageQuery extends SelectionQuery, StartQuery {
  readonly limit?: number | undefined;
}

/**
 * Returns a page of a list, sorted by namespace and name; without `limit` the whole list. All pages show the
 * version of the first. Items have no apiVersion and kind. Throws ApiError 400 (selectors, token), 410 (token
 * or exact version too old; for a token, the Status has another token that continues at the current version),
 * 422 (options that exclude each other), 504 (a version not reached).
 */
export function listObjects(registry: Registry, kind: Kind, query: ListPageQuery): ObjectList<StoredObject> {
  const list = listName(kind, query);
  const start = listStart(registry, query, list);
  const selected = selection(kind, query);
  const items = objectsAt(registry, kind, query, start)
    .filter(selected)
    .filter((object) => start.after === undefined || keyOf(object) > start.after);
  const limit = query.limit === undefined || query.limit <= 0 ? items.length : query.limit;
  const page = items.slice(0, limit);
  const last = page.at(-1);
  const rest = items.length - page.length;
  const revision = start.revision ?? registry.store.revision;
  return {
    kind: `${kind.name}List`,
    apiVersion: apiVersionOf(kind),
    metadata: {
      resourceVersion: String(revision),
      ...(rest > 0 && last !== undefined
        ? { continue: encodeToken({ revision, after: keyOf(last), list }), ...remaining(query, rest) }
        : {}),
    },
    items: page.map(withoutType),
  };
}

/** Returns the number of remaining items. With a selector it is unknown, as in a real server. */
function remaining({ labelSelector, fieldSelector }: ListPageQuery, rest: number): object {
  return (labelSelector ?? '') === '' && (fieldSelector ?? '') === '' ? { remainingItemCount: rest } : {};
}

function listName(kind: Kind, { namespace }: SelectionQuery): string {
  const resource = groupResource(kind.resource);
  return namespace === undefined ? resource : `${resource}/${namespace}`;
}

const keyOf = (object: StoredObject): string => objectKey(object.metadata.namespace, object.metadata.name);

/** Returns the objects of a kind at a version: the current objects, with the later events undone. */
function objectsAt(
  { store }: Registry,
  kind: Kind,
  query: ListPageQuery,
  { revision, after }: ListStart,
): StoredObject[] {
  const resource = groupResource(kind.resource);
  const name = singleNameSelector(kind, query);
  const present =
    name === undefined
      ? store.list(resource, query.namespace)
      : [store.get(resource, query.namespace, name) ?? []].flat();
  if (revision === undefined || revision >= store.revision) return present;
  const events = store.since(revision);
  if (events === undefined) throw tooOld(listName(kind, query), after);
  const objects = new Map(present.map((object) => [keyOf(object), object]));
  for (const event of events.toReversed()) {
    if (event.resource !== resource) continue;
    if (event.previous === undefined) objects.delete(keyOf(event.object));
    else objects.set(keyOf(event.object), event.previous);
  }
  return [...objects.entries()]
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([, object]) => object);
}

/**
 * Returns the object name that a field selector requires; undefined if it requires none. Clients that wait
 * for one object use such a selector, and the name saves a scan.
 */
function singleNameSelector(
  { resource }: Kind,
  { fieldSelector = '', namespace }: ListPageQuery,
): string | undefined {
  return resource.namespaced && namespace === undefined
    ? undefined
    : /^metadata\.name==?([^\\,=!]+)$/u.exec(fieldSelector)?.[1];
}

function tooOld(list: string, after: string | undefined): ApiError {
  if (after === undefined) return expired('The resourceVersion for the provided list is too old.');
  return expiredToken(encodeToken({ revision: undefined, after, list }));
}

function withoutType(object: StoredObject): StoredObject {
  const { kind: _kind, apiVersion: _apiVersion, ...item } = object;
  return item;
}
