import { timestamp } from '../../../src/kubernetes/timestamp.ts';
import { copyJson } from '../schema/json.ts';
import type { DeleteOptions } from '../../../src/kubernetes/api.ts';
import { conflict, groupResource } from '../errors/status-errors.ts';
import type { MutableObject, Kind } from '../kinds/kind.ts';
import type { StoredObject } from '../store/stored-object.ts';
import { compactMetadata, getObject, pendingFinalizers } from './registry.ts';
import type { Location, Registry } from './registry.ts';

export interface Deletion {
  /** The last state of a removed object, or the state with deletionTimestamp. */
  readonly object: StoredObject;
  /** False if a grace period or a finalizer keeps the object. */
  readonly removed: boolean;
}

export interface DeleteObjectOptions extends DeleteOptions {
  readonly dryRun?: boolean | undefined;
}

/**
 * Serves DELETE (apiserver pkg/registry/rest/delete.go). A repeated request can only shorten the grace
 * period. Throws ApiError 404, 409 (preconditions), 403 (an object that may not be deleted).
 */
export function deleteObject(
  registry: Registry,
  kind: Kind,
  location: Location,
  options: DeleteObjectOptions = {},
): Deletion {
  const current = getObject(registry, kind, location);
  assertPreconditions(kind, current, options);
  kind.assertDeletable?.(current);
  const draft: MutableObject = { ...copyJson(current) };
  const seconds = resolveGracePeriod(kind, draft, options.gracePeriodSeconds);
  const resource = groupResource(kind.resource);
  if (seconds === 0 && pendingFinalizers(kind, draft).length === 0) {
    return {
      object: options.dryRun === true ? draft : registry.store.remove(resource, draft),
      removed: true,
    };
  }
  markDeleted(registry, kind, draft, seconds);
  if (isDeletionUnchanged(draft, current)) return { object: current, removed: false };
  if (kind.countsGenerations) draft.metadata.generation = (current.metadata.generation ?? 0) + 1;
  return { object: options.dryRun === true ? draft : registry.store.put(resource, draft), removed: false };
}

/** Throws ApiError 409 if the object has another uid or resourceVersion than the preconditions. */
export function assertPreconditions(
  kind: Kind,
  { metadata }: StoredObject,
  { preconditions }: DeleteOptions,
): void {
  const { uid, resourceVersion } = preconditions ?? {};
  if (uid !== undefined && uid !== metadata.uid) {
    throw conflict(
      kind.resource,
      metadata.name,
      `the UID in the precondition (${uid}) does not match the UID in record (${metadata.uid}). The object might have been deleted and then recreated`,
    );
  }
  if (resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion) {
    throw conflict(
      kind.resource,
      metadata.name,
      `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${metadata.resourceVersion}). The object might have been modified`,
    );
  }
}

/**
 * Returns the grace period of this request in seconds. It cannot be longer than that of an earlier request.
 */
function resolveGracePeriod(kind: Kind, draft: MutableObject, requested: number | undefined): number {
  if (kind.gracePeriod === undefined) return 0;
  const gracePeriod = requested !== undefined && requested < 0 ? 1 : requested;
  const earlier = draft.metadata.deletionGracePeriodSeconds;
  if (draft.metadata.deletionTimestamp === undefined || earlier === undefined)
    return kind.gracePeriod(draft, gracePeriod);
  return gracePeriod === undefined ? earlier : Math.min(earlier, kind.gracePeriod(draft, gracePeriod));
}

function markDeleted(registry: Registry, kind: Kind, draft: MutableObject, seconds: number): void {
  const { deletionTimestamp, deletionGracePeriodSeconds } = draft.metadata;
  if (deletionTimestamp !== undefined && deletionGracePeriodSeconds === seconds) return;
  const started =
    deletionTimestamp === undefined
      ? registry.clock.now()
      : Date.parse(deletionTimestamp) - 1000 * (deletionGracePeriodSeconds ?? 0);
  draft.metadata = compactMetadata({
    ...draft.metadata,
    deletionTimestamp: timestamp(started + 1000 * seconds),
    deletionGracePeriodSeconds: seconds,
  });
  kind.prepareDelete?.(draft);
}

function isDeletionUnchanged({ metadata }: MutableObject, current: StoredObject): boolean {
  return (
    metadata.deletionTimestamp === current.metadata.deletionTimestamp &&
    metadata.deletionGracePeriodSeconds === current.metadata.deletionGracePeriodSeconds
  );
}
