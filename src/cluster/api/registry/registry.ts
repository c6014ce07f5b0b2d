import type { Resource } from '../../../kubernetes/api.ts';
import type { Clock } from '../../../kubernetes/clock.ts';
import { groupResource, notFound, pathNotFound } from '../errors/status-errors.ts';
import type { AdmissionContext, Kind } from '../kinds/kind.ts';
import type { ObjectStore } from '../store/object-store.ts';
import type { StoredObject } from '../store/stored-object.ts';
import type { TokenKey } from '../tokens/token-key.ts';
import { randomSuffix } from './random.ts';
import type { Random } from './random.ts';

/** What every verb works with. The verbs beside this file are functions over it, all synchronous. */
export interface Registry {
  readonly store: ObjectStore;
  /** Kinds by group and resource: `pods`, `storageclasses.storage.k8s.io`. */
  readonly kinds: ReadonlyMap<string, Kind>;
  readonly clock: Clock;
  readonly random: Random;
  /** Signs the tokens of service accounts. */
  readonly tokenKey: TokenKey;
}

/** Where an object is, as a URL says it. */
export interface Location {
  readonly namespace: string | undefined;
  readonly name: string;
}

/** The kind behind a resource. Throws ApiError 404 where this server does not serve it. */
export function kindOf(registry: Registry, resource: Pick<Resource, 'group' | 'plural'>): Kind {
  const kind = registry.kinds.get(groupResource(resource));
  if (kind === undefined) throw pathNotFound();
  return kind;
}

/** One object, as stored: copy before changing. Throws ApiError 404. */
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

/** RFC 3339 in UTC with seconds, as all times in objects are. `milliseconds` since the epoch. */
export function timestamp(milliseconds: number): string {
  return `${new Date(milliseconds).toISOString().slice(0, 19)}Z`;
}

/** Whether nothing holds an object any more whose deletion has begun. */
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

/** A copy without the members that are undefined. */
export function compactMetadata(metadata: {
  readonly [Key in keyof StoredObject['metadata']]: StoredObject['metadata'][Key] | undefined;
}): StoredObject['metadata'] {
  const entries = Object.entries(metadata).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as unknown as StoredObject['metadata'];
}
