import type { KubernetesObject, ObjectList, Status } from './object.ts';

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
  /** Events after this version; absent: the present state as ADDED events first. */
  readonly resourceVersion?: string | undefined;
  /** Ends the iteration. */
  readonly signal?: AbortSignal | undefined;
}

export type WatchEvent<T extends KubernetesObject> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  | { readonly type: 'BOOKMARK'; readonly object: KubernetesObject }
  | { readonly type: 'ERROR'; readonly object: Status };

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  /** Dependents go after their owner. The embedded cluster refuses the other policies. */
  readonly propagationPolicy?: 'Background';
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

export interface CreateOptions {
  /** Everything but the write itself: defaults, admission, validation. */
  readonly dryRun?: boolean;
}

export type PatchType = 'application/merge-patch+json' | 'application/json-patch+json';

/**
 * The verbs of a Kubernetes API, whoever serves them.
 *
 * Adapters: `rest-api.ts` (HTTPS) and `cluster/api/local-api.ts` (the embedded server's registry, same process).
 * Both pass `test/contract`. Every verb rejects with `ApiError` where the server answers with a Status;
 * a missing object is an `ApiError` with code 404, never `undefined`.
 */
export interface KubernetesApi {
  get<T extends KubernetesObject>(reference: ObjectReference): Promise<T>;
  list<T extends KubernetesObject>(resource: Resource, query?: ListQuery): Promise<ObjectList<T>>;
  /** POST; `object.metadata.namespace` says where. */
  create<T extends KubernetesObject>(resource: Resource, object: T, options?: CreateOptions): Promise<T>;
  /** PUT, on the status subresource when asked; conditional where the object carries a resourceVersion. */
  replace<T extends KubernetesObject>(resource: Resource, object: T, subresource?: 'status'): Promise<T>;
  patch<T extends KubernetesObject>(
    reference: ObjectReference,
    patch: unknown,
    options?: { readonly type?: PatchType; readonly subresource?: 'status' },
  ): Promise<T>;
  /** Resolves when the server took the deletion, which for pods and finalized objects is not the end of it. */
  delete(reference: ObjectReference, options?: DeleteOptions): Promise<void>;
  /** Names of the API groups that are served, the core group left out: what is installed in the cluster. */
  groups(): Promise<readonly string[]>;
  /**
   * The server's clock when it sent its latest answer, in milliseconds since the epoch; undefined where that did not say it.
   * Without this verb the server is in the caller's process and has its clock.
   */
  serverTime?(): number | undefined;
  /** Events as they come; ends with the signal or when the server closes it. */
  watch<T extends KubernetesObject>(resource: Resource, query?: WatchQuery): AsyncIterable<WatchEvent<T>>;
}
