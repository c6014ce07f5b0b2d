import type { WatchEvent } from '../../../src/kubernetes/api.ts';
import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import { expired, groupResource } from '../errors/status-errors.ts';
import type { Kind } from '../kinds/kind.ts';
import type { StoredObject, StoreEvent } from '../store/stored-object.ts';
import { apiVersionOf } from './decode-draft.ts';
import type { Registry } from './registry.ts';
import { assertReached, parseResourceVersion } from './resource-version.ts';
import { selection, type SelectionQuery } from './selection.ts';

export interface WatchObjectsQuery extends SelectionQuery {
  readonly resourceVersion?: string | undefined;
  /**
   * Sends the current state first, then a bookmark with the annotation k8s.io/initial-events-end (KEP-3157).
   */
  readonly sendInitialEvents?: boolean | undefined;
}

export type WatchListener = (event: WatchEvent<StoredObject>) => void;

/**
 * Calls `listener` with every change: past ones at once, later ones within the writes themselves. Sends an
 * ERROR event (410), and then no more events, if the version is too old. Returns a function that stops the
 * watch. Throws ApiError 400 for selectors that cannot be parsed.
 */
export function watchObjects(
  registry: Registry,
  kind: Kind,
  query: WatchObjectsQuery,
  listener: WatchListener,
): () => void {
  const selected = selection(kind, query);
  const past = initialEvents(registry, kind, query);
  if (past.error !== undefined) {
    listener(past.error);
    return () => {};
  }
  const resource = groupResource(kind.resource);
  const emit = (event: StoreEvent): void => {
    const seen = event.resource === resource ? asSeenBySelection(event, selected) : undefined;
    if (seen !== undefined) listener(seen);
  };
  const stop = registry.store.subscribe(emit);
  for (const object of past.state) if (selected(object)) listener({ type: 'ADDED', object });
  if (query.sendInitialEvents === true) listener(initialEventsEnd(registry, kind));
  for (const event of past.events) emit(event);
  return stop;
}

/** Returns a BOOKMARK at the current version: a watch that continues from it misses nothing. */
export function bookmark(registry: Registry, kind: Kind): WatchEvent<StoredObject> {
  return {
    type: 'BOOKMARK',
    object: {
      kind: kind.name,
      apiVersion: apiVersionOf(kind),
      metadata: { resourceVersion: String(registry.store.revision) },
    },
  };
}

function initialEventsEnd(registry: Registry, kind: Kind): WatchEvent<StoredObject> {
  const event = bookmark(registry, kind);
  if (event.type !== 'BOOKMARK') return event;
  const metadata = { ...event.object.metadata, annotations: { 'k8s.io/initial-events-end': 'true' } };
  return { type: 'BOOKMARK', object: { ...event.object, metadata } };
}

interface WatchStart {
  readonly state: readonly StoredObject[];
  readonly events: readonly StoreEvent[];
  readonly error?: WatchEvent<StoredObject>;
}

function initialEvents(registry: Registry, kind: Kind, query: WatchObjectsQuery): WatchStart {
  const { store } = registry;
  const revision = parseResourceVersion(query.resourceVersion);
  const fromState = revision === undefined || revision === 0 || query.sendInitialEvents === true;
  try {
    assertReached(store, revision ?? 0);
    const events = fromState ? [] : store.since(revision);
    if (events === undefined) throw expired(`too old resource version: ${revision} (${store.revision})`);
    const state =
      fromState && query.sendInitialEvents !== false ? store.list(groupResource(kind.resource)) : [];
    return { state, events };
  } catch (error) {
    if (!isApiError(error)) throw error;
    return { state: [], events: [], error: { type: 'ERROR', object: error.status } };
  }
}

/**
 * Returns an event as a watcher with that selection sees it: an object that enters is ADDED, one that leaves
 * is DELETED.
 */
function asSeenBySelection(
  event: StoreEvent,
  selected: (object: StoredObject) => boolean,
): WatchEvent<StoredObject> | undefined {
  const { object, previous } = event;
  const was = previous !== undefined && selected(previous);
  if (event.type === 'DELETED') return was ? { type: 'DELETED', object } : undefined;
  const is = selected(object);
  if (is) return { type: was ? 'MODIFIED' : 'ADDED', object };
  if (!was) return undefined;
  const { resourceVersion } = object.metadata;
  return { type: 'DELETED', object: { ...previous, metadata: { ...previous.metadata, resourceVersion } } };
}
