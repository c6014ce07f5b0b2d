import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import type {
  DeleteOptions,
  ListQuery,
  ObjectReference,
  PatchType,
  Resource,
  WatchEvent,
  WatchQuery,
} from '../../src/kubernetes/api.ts';
import type { KubernetesObject, ObjectList, Stored } from '../../src/kubernetes/object.ts';
import type { ControlPlaneApi } from './control-plane-api.ts';
import { pathNotFound, groupResource } from './errors/status-errors.ts';
import { bindPod, finalizeNamespace } from './registry/control-plane-verbs.ts';
import { createObject } from './registry/create.ts';
import { deleteObject } from './registry/delete.ts';
import { EventQueue } from './registry/event-queue.ts';
import { listObjects } from './registry/list.ts';
import { patchObject } from './registry/patch.ts';
import { getObject, kindOf, type Location, type Registry, systemRandom } from './registry/registry.ts';
import { updateObject } from './registry/update.ts';
import { watchObjects } from './registry/watch.ts';
import { copyJson } from './schema/json.ts';
import type { StoredObject } from './store/stored-object.ts';
import { requestToken, type IssuedToken, type TokenRequest } from './tokens/request-token.ts';
import { systemClock, type Clock } from '../../src/platform/clock.ts';
import { bootstrapCluster } from './bootstrap.ts';
import { allKinds } from './kinds/all-kinds.ts';
import type { Kind } from './kinds/kind.ts';
import { ObjectStore } from './store/object-store.ts';
import { journalPath } from './store/read-stored-objects.ts';
import { loadTokenKey } from './tokens/json-web-token.ts';

/**
 * The API server without its network: it has the same rules, stored objects and errors, in process, for the
 * controllers, the node and tests. Arguments and results are copied. When a write resolves, it is in the
 * journal.
 */
export class LocalApi implements ControlPlaneApi {
  /** The HTTPS server uses it to serve the same registry. */
  readonly registry: Registry;

  constructor(registry: Registry) {
    this.registry = registry;
  }

  async get<T extends KubernetesObject>(reference: ObjectReference): Promise<Stored<T>> {
    return copy<T>(getObject(this.registry, this.#kind(reference.resource), requestLocation(reference)));
  }

  async list<T extends KubernetesObject>(resource: Resource, query: ListQuery = {}): Promise<ObjectList<T>> {
    const list = listObjects(this.registry, this.#kind(resource), query);
    return { ...list, items: list.items.map((item) => copy<T>(item)) };
  }

  async anyMatch(
    resource: Resource,
    query: ListQuery,
    predicate: (object: KubernetesObject) => boolean,
  ): Promise<boolean> {
    return listObjects(this.registry, this.#kind(resource), query).items.some(predicate);
  }

  async create<T extends KubernetesObject>(resource: Resource, object: T): Promise<Stored<T>> {
    return copy<T>(this.#create(resource, object, false));
  }

  async dryRunCreate<T extends KubernetesObject>(resource: Resource, object: T): Promise<T> {
    return copy<T>(this.#create(resource, object, true));
  }

  #create(resource: Resource, object: KubernetesObject, dryRun: boolean): StoredObject {
    const namespace = resource.namespaced ? object.metadata.namespace : undefined;
    return createObject(this.registry, this.#kind(resource), object, { namespace, dryRun });
  }

  async replace<T extends KubernetesObject>(
    resource: Resource,
    object: T,
    subresource?: 'status',
  ): Promise<Stored<T>> {
    const location = { namespace: object.metadata.namespace, name: object.metadata.name };
    const kind = this.#kind(resource, subresource);
    return copy<T>(updateObject(this.registry, kind, location, object, { subresource }));
  }

  async patch<T extends KubernetesObject>(
    reference: ObjectReference,
    patch: unknown,
    options: { readonly type?: PatchType; readonly subresource?: 'status' } = {},
  ): Promise<Stored<T>> {
    const { type = 'application/merge-patch+json', subresource } = options;
    const kind = this.#kind(reference.resource, subresource);
    return copy<T>(
      patchObject(this.registry, kind, requestLocation(reference), patch, { type, subresource }),
    );
  }

  async delete(reference: ObjectReference, options: DeleteOptions = {}): Promise<void> {
    deleteObject(this.registry, this.#kind(reference.resource), requestLocation(reference), options);
  }

  async groups(): Promise<readonly string[]> {
    const named = [...this.registry.kinds.values()].map(({ resource }) => resource.group);
    return [...new Set(named)].filter((group) => group !== '');
  }

  async *watch<T extends KubernetesObject>(
    resource: Resource,
    query: WatchQuery = {},
  ): AsyncIterable<WatchEvent<T>> {
    const { signal, ...selection } = query;
    const queue = new EventQueue<WatchEvent<StoredObject>>();
    const stop = watchObjects(this.registry, this.#kind(resource), selection, (event) => queue.push(event));
    const end = (): void => queue.abort();
    signal?.addEventListener('abort', end, { once: true });
    if (signal?.aborted === true) end();
    try {
      for await (const event of queue) {
        yield copyJson(event) as unknown as WatchEvent<T>;
        if (event.type === 'ERROR') return;
      }
    } finally {
      stop();
      signal?.removeEventListener('abort', end);
    }
  }

  async bindPod(namespace: string, name: string, nodeName: string): Promise<void> {
    bindPod(this.registry, { namespace, name }, nodeName);
  }

  async finalizeNamespace(name: string): Promise<void> {
    try {
      finalizeNamespace(this.registry, name, []);
    } catch (error) {
      if (!isApiError(error, 404)) throw error;
    }
  }

  async requestToken(namespace: string, account: string, request: TokenRequest): Promise<IssuedToken> {
    return requestToken(this.registry, { namespace, name: account }, request) as unknown as IssuedToken;
  }

  /** Writes the journal to the disk and closes it. The object must not be used afterwards. */
  close(): Promise<void> {
    return this.registry.store.close();
  }

  #kind(resource: Resource, subresource?: 'status'): ReturnType<typeof kindOf> {
    const kind = kindOf(this.registry, resource);
    if (subresource === 'status' && !kind.hasStatus) throw pathNotFound();
    return kind;
  }
}

function requestLocation({ namespace, name, resource }: ObjectReference): Location {
  return { namespace: resource.namespaced ? namespace : undefined, name };
}

function copy<T extends KubernetesObject>(object: StoredObject): Stored<T> {
  return copyJson(object) as unknown as Stored<T>;
}

interface LocalApiOptions {
  /** The cluster's directory. Its `journal/` contains the objects. */
  readonly directory: string;
  readonly clock?: Clock;
  /** The minimum number of changes, of the last five minutes, that a watch can start from. */
  readonly historySize?: number;
  /**
   * Kinds that are served in addition to the cluster's, for tests. Their objects are stored, and nothing here
   * acts on them.
   */
  readonly moreKinds?: readonly Kind[];
}

/**
 * Opens the objects of a cluster, new or from an earlier process, and creates namespaces and StorageClass if
 * they are missing. Only one process may do so at a time: two would write one journal. The caller must call
 * `close()`. Rejects with ProductError CLUSTER_JOURNAL_CORRUPT for a damaged journal.
 */
export async function openLocalApi(options: LocalApiOptions): Promise<LocalApi> {
  const { directory, clock = systemClock, historySize, moreKinds = [] } = options;
  const file = journalPath(directory);
  const store = ObjectStore.open({
    ...{ file, now: () => clock.now() },
    ...(historySize === undefined ? {} : { historySize }),
  });
  const more = moreKinds.map((kind) => [groupResource(kind.resource), kind] as const);
  const kinds = new Map([...allKinds, ...more]);
  const registry = { store, kinds, clock, random: systemRandom, tokenKey: loadTokenKey(directory) };
  const api = new LocalApi(registry);
  await bootstrapCluster(api);
  return api;
}
