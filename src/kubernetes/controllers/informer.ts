import { ApiError, isApiError } from '../client/api-error.ts';
import type { KubernetesApi, ListQuery, Resource } from '../api.ts';
import type { KubernetesObject, Stored } from '../object.ts';
import type { ControllerRuntime } from './work-queue.ts';

/** A change of an object. `before` is absent for a new object, `after` for a deleted one. */
export interface Change<T extends KubernetesObject> {
  readonly key: string;
  readonly before: Stored<T> | undefined;
  readonly after: Stored<T> | undefined;
}

interface InformerRuntime extends Pick<ControllerRuntime, 'clock' | 'onError'> {
  /** Called after each list, so also after the end of a failure. */
  readonly onList?: () => void;
}

const baseDelayMs = 100;
const maximumDelayMs = 10_000;

/** Returns `namespace/name`, or `name` for cluster-scoped objects. */
export function keyOf(object: KubernetesObject): string {
  const { namespace, name } = object.metadata;
  return namespace === undefined || namespace === '' ? name : `${namespace}/${name}`;
}

/** Splits a key into namespace and name. */
export function splitKey(key: string): { namespace: string | undefined; name: string } {
  const slash = key.indexOf('/');
  return slash < 0
    ? { namespace: undefined, name: key }
    : { namespace: key.slice(0, slash), name: key.slice(slash + 1) };
}

/**
 * Keeps a cache of one resource by list and watch, and notifies handlers of changes (client-go tools/cache).
 * The cache may be stale: decide by it, but write conditionally. A watch that ends, fails or is too old is
 * restarted from a new list; handlers are notified of its differences as of any other change.
 */
export class Informer<T extends KubernetesObject = KubernetesObject> {
  readonly resource: Resource;
  readonly #api: KubernetesApi;
  readonly #runtime: InformerRuntime;
  readonly #selection: ListQuery;
  readonly #objects = new Map<string, Stored<T>>();
  readonly #handlers: ((change: Change<T>) => void)[] = [];
  readonly #stopped = new AbortController();
  readonly #synced = Promise.withResolvers<void>();

  /** Watches the objects of the resource in all namespaces, or those that the query selects. */
  constructor(api: KubernetesApi, resource: Resource, runtime: InformerRuntime, selection: ListQuery = {}) {
    this.#api = api;
    this.resource = resource;
    this.#runtime = runtime;
    this.#selection = selection;
  }

  /** Adds a handler. Must be called before `run`. */
  onChange(handler: (change: Change<T>) => void): void {
    this.#handlers.push(handler);
  }

  get(key: string): Stored<T> | undefined {
    return this.#objects.get(key);
  }

  list(): Stored<T>[] {
    return [...this.#objects.values()];
  }

  /**
   * Resolves when handlers were notified of the first list. Rejects if the server does not serve the
   * resource.
   */
  get synced(): Promise<void> {
    return this.#synced.promise;
  }

  /** Runs until `stop`. */
  async run(): Promise<void> {
    let failures = 0;
    while (!this.#stopped.signal.aborted) {
      try {
        await this.#listAndWatch();
        failures = 0;
      } catch (error) {
        if (isApiError(error, 404)) {
          this.#synced.reject(error);
        }
        failures += 1;
        this.#runtime.onError(new Error(`watch of ${this.resource.plural}`, { cause: error }));
      }
      const delay = failures === 0 ? baseDelayMs : Math.min(baseDelayMs * 2 ** failures, maximumDelayMs);
      await this.#runtime.clock.sleep(delay, this.#stopped.signal);
    }
    this.#synced.resolve();
  }

  stop(): void {
    this.#stopped.abort();
  }

  async #listAndWatch(): Promise<void> {
    const list = await this.#api.list<T>(this.resource, this.#selection);
    this.#replace(list.items);
    this.#synced.resolve();
    this.#runtime.onList?.();
    const { resourceVersion } = list.metadata;
    const query = { ...this.#selection, resourceVersion, signal: this.#stopped.signal };
    for await (const event of this.#api.watch<T>(this.resource, query)) {
      switch (event.type) {
        case 'ADDED':
        case 'MODIFIED':
          this.#notify(keyOf(event.object), event.object);
          break;
        case 'DELETED':
          this.#notify(keyOf(event.object), undefined);
          break;
        case 'BOOKMARK':
          break;
        case 'ERROR':
          if (event.object.code !== 410) {
            throw new ApiError(event.object);
          }
          return;
        default:
          event satisfies never;
      }
    }
  }

  #replace(items: readonly Stored<T>[]): void {
    const fresh = new Map(items.map((item) => [keyOf(item), item]));
    for (const [key, before] of this.#objects) {
      const after = fresh.get(key);
      if (after?.metadata.uid !== before.metadata.uid) {
        this.#notify(key, undefined);
      }
    }
    for (const [key, after] of fresh) {
      this.#notify(key, after);
    }
  }

  #notify(key: string, after: Stored<T> | undefined): void {
    const before = this.#objects.get(key);
    if (before !== undefined && before.metadata.resourceVersion === after?.metadata.resourceVersion) {
      return;
    }
    if (after === undefined) {
      this.#objects.delete(key);
    } else {
      this.#objects.set(key, after);
    }
    for (const handle of this.#handlers) {
      handle({ key, before, after });
    }
  }
}
