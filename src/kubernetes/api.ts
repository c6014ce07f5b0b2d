import type { Bookmark, KubernetesObject, ObjectList, Status, Stored } from './object.ts';
import { isApiError } from './client/api-error.ts';

/** A resource as its URL names it: `{ group: '', version: 'v1', plural: 'pods' }`. */
export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

/** One object of a resource. `namespace` is absent for cluster-scoped resources. */
export interface ObjectReference {
  readonly resource: Resource;
  readonly namespace?: string | undefined;
  readonly name: string;
}

export interface ListQuery {
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

export interface WatchQuery extends ListQuery {
  /** The watch starts after this version. Absent: it starts with the existing objects as ADDED events. */
  readonly resourceVersion?: string | undefined;
  /** Ends the iteration. */
  readonly signal?: AbortSignal | undefined;
}

export type WatchEvent<T extends KubernetesObject> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: Stored<T> }
  | { readonly type: 'BOOKMARK'; readonly object: Bookmark }
  | { readonly type: 'ERROR'; readonly object: Status };

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  /** Dependents are deleted after their owner. The embedded cluster rejects the other policies. */
  readonly propagationPolicy?: 'Background';
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

export type PatchType = 'application/merge-patch+json' | 'application/json-patch+json';

/**
 * The verbs of a Kubernetes API, independent of the server.
 *
 * Adapters: `rest-api.ts` (HTTPS) and `embedded-cluster/api-server/local-api.ts` (the embedded server's
 * registry, same process). Both pass `test/contract`. Every verb rejects with `ApiError` if the server
 * responds with a Status failure; a missing object is an `ApiError` with code 404, never `undefined`.
 */
export interface KubernetesApi {
  get<T extends KubernetesObject>(reference: ObjectReference): Promise<Stored<T>>;
  list<T extends KubernetesObject>(resource: Resource, query?: ListQuery): Promise<ObjectList<T>>;
  /** Sends a POST to the namespace in `object.metadata.namespace`. */
  create<T extends KubernetesObject>(resource: Resource, object: T): Promise<Stored<T>>;
  /**
   * Runs everything of `create` except the write: defaults, admission, validation. The result is not stored,
   * so it has no resourceVersion.
   */
  dryRunCreate<T extends KubernetesObject>(resource: Resource, object: T): Promise<T>;
  /**
   * Sends a PUT, to the status subresource if requested. The write is conditional if the object has a
   * resourceVersion.
   */
  replace<T extends KubernetesObject>(
    resource: Resource,
    object: T,
    subresource?: 'status',
  ): Promise<Stored<T>>;
  patch<T extends KubernetesObject>(
    reference: ObjectReference,
    patch: unknown,
    options?: { readonly type?: PatchType; readonly subresource?: 'status' },
  ): Promise<Stored<T>>;
  /**
   * Resolves when the server has accepted the deletion. Pods and objects with finalizers may still exist
   * then.
   */
  delete(reference: ObjectReference, options?: DeleteOptions): Promise<void>;
  /**
   * Returns the names of the served API groups without the core group. They show what is installed in the
   * cluster.
   */
  groups(): Promise<readonly string[]>;
  /**
   * Returns the server's time at its latest response, in milliseconds since the epoch; undefined if that
   * response had no time. A server without this method is in the caller's process and shares its clock.
   */
  serverTime?(): number | undefined;
  /** Yields events as they arrive. Ends with the signal, or when the server closes the watch. */
  watch<T extends KubernetesObject>(resource: Resource, query?: WatchQuery): AsyncIterable<WatchEvent<T>>;
}

/** Returns the result of a request for one object; undefined if the object does not exist (404). */
export function ignoreNotFound<T>(request: Promise<T>): Promise<T | undefined> {
  return ignoring(request, 404);
}

/** Returns the result of a request; undefined if the role does not allow it (403). */
export function ifAllowed<T>(request: Promise<T>): Promise<T | undefined> {
  return ignoring(request, 403);
}

/** Returns the result of a read; undefined if the role does not allow it (403) or there is nothing (404). */
export function ifReadable<T>(read: Promise<T>): Promise<T | undefined> {
  return ignoring(read, 403, 404);
}

/**
 * Returns the result of a conditional write; undefined if the object has changed since it was read (409), or
 * was deleted (404).
 */
export function ignoreConflict<T>(write: Promise<T>): Promise<T | undefined> {
  return ignoring(write, 404, 409);
}

async function ignoring<T>(request: Promise<T>, ...codes: readonly number[]): Promise<T | undefined> {
  try {
    return await request;
  } catch (error) {
    if (isApiError(error) && codes.includes(error.code)) return undefined;
    throw error;
  }
}
