import type { Resource } from '../../../src/kubernetes/api.ts';
import type { Clock } from '../../../src/platform/clock.ts';
import { groupResource, notFound, pathNotFound } from '../errors/status-errors.ts';
import type { AdmissionContext, Kind } from '../kinds/kind.ts';
import type { ObjectStore } from '../store/object-store.ts';
import type { StoredObject } from '../store/stored-object.ts';
import type { TokenKey } from '../tokens/token-key.ts';
import { randomSuffix, type Random } from './random.ts';

/**
 * The dependencies of every verb. The verbs, in the files beside this one, are functions on it, all
 * synchronous.
 */
export interface Registry {
  readonly store: ObjectStore;
  /** Kinds by group and resource: `pods`, `storageclasses.storage.k8s.io`. */
  readonly kinds: ReadonlyMap<string, Kind>;
  readonly clock: Clock;
  readonly random: Random;
  /** Signs the tokens of service accounts. */
  readonly tokenKey: TokenKey;
}

/** The location of an object in a URL. */
export interface Location {
  readonly namespace: string | undefined;
  readonly name: string;
}

/** Returns the kind of a resource. Throws ApiError 404 if this server does not serve it. */
export function kindOf(registry: Registry, resource: Pick<Resource, 'group' | 'plural'>): Kind {
  const kind = registry.kinds.get(groupResource(resource));
  if (kind === undefined) throw pathNotFound();
  return kind;
}

/** Returns one object as stored: copy it before changing it. Throws ApiError 404. */
export function getObject(registry: Registry, kind: Kind, { namespace, name }: Location): StoredObject {
  const object = registry.store.get(groupResource(kind.resource), namespace, name);
  if (object === undefined) throw notFound(kind.resource, name);
  return object;
}

export function admissionContext(registry: Registry): AdmissionContext {
  return {
    now: timestamp(registry.clock.now()),
    list: (resource) => registry.store.list(groupResource(resource)),
    randomSuffix: () => randomSuffix(registry.random),
  };
}

/**
 * Formats a time as all times in objects: RFC 3339 in UTC with seconds. `milliseconds` is since the epoch.
 */
export function timestamp(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
}

/** Returns true if the object is being deleted and neither a grace period nor a finalizer keeps it. */
export function canRemove(kind: Kind, object: StoredObject): boolean {
  const { metadata } = object;
  return (
    metadata.deletionTimestamp !== undefined &&
    (metadata.deletionGracePeriodSeconds ?? 0) === 0 &&
    pendingFinalizers(kind, object).length === 0
  );
}

export function pendingFinalizers(kind: Kind, object: StoredObject): readonly string[] {
  return [...(object.metadata.finalizers ?? []), ...(kind.ownFinalizers?.(object) ?? [])];
}

/** Returns a copy without the members that are undefined. */
export function compactMetadata(metadata: {
  readonly [Key in keyof StoredObject['metadata']]: StoredObject['metadata'][Key] | undefined;
}): StoredObject['metadata'] {
  const entries = Object.entries(metadata).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as unknown as StoredObject['metadata'];
}
