import type { ObjectList } from '../../../kubernetes/object.ts';
import { badRequest, expired, groupResource, statusError } from '../errors/status-errors.ts';
import type { Kind } from '../kinds/kind.ts';
import { isRecord } from '../schema/json.ts';
import { objectKey } from '../store/stored-object.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { apiVersionOf } from './decode-draft.ts';
import type { Registry } from './registry.ts';
import { assertReached, parseResourceVersion } from './resource-version.ts';
import { selection } from './selection.ts';
import type { SelectionQuery } from './selection.ts';

export interface ListPageQuery extends SelectionQuery {
  readonly limit?: number | undefined;
  readonly continue?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly resourceVersionMatch?: string | undefined;
}

/**
 * A page of a list, sorted by namespace and name; without `limit` the whole. Items carry no apiVersion and kind.
 * Throws ApiError 400 (selectors, token), 410 (token or exact version too old), 504 (a version not reached).
 */
export function listObjects(registry: Registry, kind: Kind, query: ListPageQuery): ObjectList<StoredObject> {
  const { store } = registry;
  const start = startOf(registry, query);
  const selected = selection(kind, query);
  const items = objectsAt(registry, kind, start.revision)
    .filter(selected)
    .filter((object) => start.after === undefined || keyOf(object) > start.after);
  const limit = query.limit === undefined || query.limit <= 0 ? items.length : query.limit;
  const page = items.slice(0, limit);
  const last = page.at(-1);
  const rest = items.length - page.length;
  const revision = start.revision ?? store.revision;
  return {
    kind: `${kind.name}List`,
    apiVersion: apiVersionOf(kind),
    metadata: {
      resourceVersion: String(revision),
      ...(rest > 0 && last !== undefined
        ? { continue: encodeToken({ revision, after: keyOf(last) }), remainingItemCount: rest }
        : {}),
    },
    items: page.map(withoutType),
  };
}

interface Token {
  /** The version of which the list goes on; undefined: the present. */
  readonly revision: number | undefined;
  /** The key that was listed last. */
  readonly after: string | undefined;
}

function startOf({ store }: Registry, query: ListPageQuery): Token {
  if (query.continue !== undefined && query.continue !== '') return decodeToken(query.continue);
  const revision = parseResourceVersion(query.resourceVersion);
  const match = query.resourceVersionMatch ?? '';
  if (match !== '' && revision === undefined) {
    throw statusError(
      422,
      'Invalid',
      'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided',
    );
  }
  if (revision !== undefined) assertReached(store, revision);
  return { revision: match === 'Exact' ? revision : undefined, after: undefined };
}

const keyOf = (object: StoredObject): string => objectKey(object.metadata.namespace, object.metadata.name);

/** The objects of a kind as they were at that version: today's, with the events since then undone. */
function objectsAt({ store }: Registry, kind: Kind, revision: number | undefined): StoredObject[] {
  const resource = groupResource(kind.resource);
  const present = store.list(resource);
  if (revision === undefined || revision >= store.revision) return present;
  const events = store.since(revision);
  if (events === undefined) {
    throw expired(
      'The provided continue parameter is too old to display a consistent list result. You must start a new list without the continue parameter.',
    );
  }
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

function encodeToken(token: Token): string {
  return Buffer.from(JSON.stringify({ v: 'bosh-kubernetes/1', ...token })).toString('base64url');
}

function decodeToken(text: string): Token {
  try {
    const token: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    if (isRecord(token) && typeof token['revision'] === 'number' && typeof token['after'] === 'string') {
      return { revision: token['revision'], after: token['after'] };
    }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
  }
  throw badRequest('continue key is not valid: it does not come from this server');
}

function withoutType(object: StoredObject): StoredObject {
  const { kind: _kind, apiVersion: _apiVersion, ...item } = object;
  return item;
}
