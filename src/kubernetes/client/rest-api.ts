import type {
  DeleteOptions,
  KubernetesApi,
  ListQuery,
  ObjectReference,
  PatchType,
  Resource,
  WatchEvent,
  WatchQuery,
} from '../api.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { countValues, maxJsonValues, readJsonLines } from './json-lines.ts';
import type { KubernetesObject, ObjectList, Stored } from '../object.ts';
import { ProductError } from '../../errors/product-error.ts';
import { isApiError, responseError } from './api-error.ts';
import { resourcePath } from '../resources.ts';
import { createConnectRetry, type RetryRefused, requestSender, type SendRequest } from './retry.ts';
import type { Transport, TransportRequest } from './transport.ts';
import type { Access } from '../access/access.ts';
import { openTransport } from './open-transport.ts';

export interface RestApiOptions {
  readonly transport: Transport;
  readonly clock?: Clock;
  /** Returns a number in [0, 1) that spreads retries. */
  readonly random?: () => number;
  /** Default: retries for one second if the server refuses connections. */
  readonly retryRefused?: RetryRefused;
}

/** The query of each write: an unknown field is an error instead of being dropped silently. */
const writeQuery = { fieldManager: 'bosh-kubernetes', fieldValidation: 'Strict' };
const pageSize = 500;
/** The limits for one list: pages (some 500,000 objects), and characters of all pages. */
const maxPages = 1000;
const maxListBytes = 64 * 1024 * 1024;

/** The limit in characters for the Status of a rejected watch; such a Status has some hundred. */
const maxErrorBytes = 1024 * 1024;

/**
 * The Kubernetes API over HTTPS. Retries requests that are safe to retry (`retry.ts`), and those that a
 * starting server forbids (`retry.ts`), then rejects.
 */
export class RestApi implements KubernetesApi {
  readonly #transport: Transport;
  readonly #send: SendRequest;
  #latestDate: string | undefined;

  constructor({ transport, clock = systemClock, random = Math.random, retryRefused }: RestApiOptions) {
    const retry = retryRefused ?? createConnectRetry({ clock, random, maxWaitMs: 1000 });
    this.#transport = this.#noting(transport, retry);
    this.#send = requestSender(this.#transport, clock, random);
  }

  serverTime(): number | undefined {
    const time = Date.parse(this.#latestDate ?? '');
    return Number.isNaN(time) ? undefined : time;
  }

  async get<T extends KubernetesObject>(reference: ObjectReference): Promise<Stored<T>> {
    return this.#object(reference.resource, { method: 'GET', path: pathOf(reference) });
  }

  async list<T extends KubernetesObject>(resource: Resource, query: ListQuery = {}): Promise<ObjectList<T>> {
    const list = await this.#listPages<T>(resource, query).catch((error: unknown) => {
      if (!isApiError(error, 410)) throw error;
      // the continue token is older than the server's history: read the whole list instead of pages
      const path = resourcePath(resource, query.namespace);
      return this.#json<ObjectList<T>>({ method: 'GET', path, query: selectors(query) });
    });
    for (const item of list.items) assertStored(resource, item);
    return list;
  }

  async create<T extends KubernetesObject>(resource: Resource, object: T): Promise<Stored<T>> {
    return this.#object(resource, postRequest(collectionOf(resource, object), object));
  }

  async dryRunCreate<T extends KubernetesObject>(resource: Resource, object: T): Promise<T> {
    return this.#json(postRequest(collectionOf(resource, object), object, { dryRun: 'All' }));
  }

  /**
   * Creates a review of authorization.k8s.io, which the server answers and does not store. Not part of
   * KubernetesApi; for callers that check a cluster.
   */
  async review<T extends object>(resource: Resource, review: T): Promise<T> {
    return this.#json(postRequest(resourcePath(resource, undefined), review));
  }

  async replace<T extends KubernetesObject>(
    resource: Resource,
    object: T,
    subresource?: 'status',
  ): Promise<Stored<T>> {
    const reference = {
      resource,
      namespace: namespaceOf(resource, object),
      name: object.metadata.name,
    };
    return this.#object(resource, {
      method: 'PUT',
      path: pathOf(reference, subresource),
      query: writeQuery,
      body: JSON.stringify(object),
    });
  }

  async patch<T extends KubernetesObject>(
    reference: ObjectReference,
    patch: unknown,
    options: { readonly type?: PatchType; readonly subresource?: 'status' } = {},
  ): Promise<Stored<T>> {
    return this.#object(reference.resource, {
      method: 'PATCH',
      path: pathOf(reference, options.subresource),
      query: writeQuery,
      body: JSON.stringify(patch),
      contentType: options.type ?? 'application/merge-patch+json',
    });
  }

  async groups(): Promise<readonly string[]> {
    const { groups } = await this.#json<{ groups: { name: string }[] }>({ method: 'GET', path: '/apis' });
    return groups.map(({ name }) => name);
  }

  /**
   * Returns the server's version, as `v1.36.3`. Not part of KubernetesApi; for callers that check a cluster.
   */
  async version(): Promise<string> {
    const { gitVersion } = await this.#json<{ gitVersion: string }>({ method: 'GET', path: '/version' });
    return gitVersion;
  }

  async delete(reference: ObjectReference, options: DeleteOptions = {}): Promise<void> {
    await this.#send({
      method: 'DELETE',
      path: pathOf(reference),
      body: JSON.stringify({ kind: 'DeleteOptions', apiVersion: 'v1', ...options }),
    });
  }

  async *watch<T extends KubernetesObject>(
    resource: Resource,
    query: WatchQuery = {},
  ): AsyncGenerator<WatchEvent<T>> {
    try {
      const stream = await this.#transport.stream({
        method: 'GET',
        path: resourcePath(resource, query.namespace),
        query: {
          ...selectors(query),
          watch: 'true',
          allowWatchBookmarks: 'true',
          ...(query.resourceVersion !== undefined && { resourceVersion: query.resourceVersion }),
        },
        signal: query.signal,
      });
      if (stream.status !== 200) {
        throw responseError(stream.status, await readText(stream.chunks), {
          method: 'GET',
          path: resourcePath(resource, query.namespace),
        });
      }
      for await (const event of readJsonLines(stream.chunks)) {
        yield checkedEvent(resource, event as WatchEvent<T>);
      }
    } catch (error) {
      if (query.signal?.aborted === true) {
        return;
      }
      throw error;
    }
  }

  /** Closes the connection; watches end. */
  close(): void {
    this.#transport.close();
  }

  /** Wraps the transport: retries refused connections and records the Date of each response. */
  #noting(transport: Transport, retryRefused: RetryRefused): Transport {
    return {
      request: async (request) => {
        const response = await retryRefused(() => transport.request(request));
        this.#latestDate = response.headers['date'];
        return response;
      },
      stream: (request) => retryRefused(() => transport.stream(request)),
      close: () => transport.close(),
    };
  }

  async #listPages<T extends KubernetesObject>(resource: Resource, query: ListQuery): Promise<ObjectList<T>> {
    const path = resourcePath(resource, query.namespace);
    const items: Stored<T>[] = [];
    let token: string | undefined;
    let length = 0;
    let values = 0;
    for (let pages = 1; ; pages += 1) {
      const { body } = await this.#send({
        method: 'GET',
        path,
        query: {
          ...selectors(query),
          limit: String(pageSize),
          ...(token !== undefined && { continue: token }),
        },
      });
      length += body.length;
      // a shorter list cannot have too many values, and is not counted
      if (length > maxJsonValues) values += countValues(body);
      if (pages > maxPages || length > maxListBytes || values > maxJsonValues)
        throw new ProductError(
          'KUBERNETES_API',
          `the Kubernetes API sends a list of ${resource.plural} that does not end, or with more than ${maxJsonValues} values; check that the kubeconfig names the right server`,
        );
      const page = parseBody(body) as ObjectList<T>;
      for (const item of page.items) items.push(item);
      token = page.metadata.continue;
      if (token === undefined || token === '') {
        return { ...page, metadata: { resourceVersion: page.metadata.resourceVersion }, items };
      }
    }
  }

  async #object<T extends KubernetesObject>(
    resource: Resource,
    request: TransportRequest,
  ): Promise<Stored<T>> {
    const object = await this.#json<Stored<T>>(request);
    assertStored(resource, object);
    return object;
  }

  async #json<T>(request: TransportRequest): Promise<T> {
    const response = await this.#send(request);
    if (response.body.length > maxJsonValues && countValues(response.body) > maxJsonValues)
      throw new ProductError(
        'KUBERNETES_API',
        `the Kubernetes API answers with more than ${maxJsonValues} values; check that the kubeconfig names the right server`,
      );
    return parseBody(response.body) as T;
  }
}

const storedKeys = ['name', 'uid', 'resourceVersion'] as const;
const namespacedKeys = [...storedKeys, 'namespace'] as const;

/** Throws KUBERNETES_API if an answer does not have what an API server sets in each object that it stores. */
function assertStored({ plural, namespaced }: Resource, object: Partial<KubernetesObject> | null): void {
  const metadata = object?.metadata;
  for (const key of namespaced ? namespacedKeys : storedKeys)
    if (typeof metadata?.[key] !== 'string' || metadata[key] === '')
      throw new ProductError(
        'KUBERNETES_API',
        `the Kubernetes API answers with an object of ${plural} without metadata.${key}; check that the kubeconfig names the right server`,
      );
}

/** Throws KUBERNETES_API for a page of a server that is no API server, without quoting it. */
function parseBody(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new ProductError(
      'KUBERNETES_API',
      'the Kubernetes API answers with a text that is not JSON; check that the kubeconfig names the right server',
    );
  }
}

function checkedEvent<T extends KubernetesObject>(resource: Resource, event: WatchEvent<T>): WatchEvent<T> {
  const isChange = event.type === 'ADDED' || event.type === 'MODIFIED' || event.type === 'DELETED';
  if (isChange) assertStored(resource, event.object);
  return event;
}

function postRequest(path: string, object: object, query: Record<string, string> = {}): TransportRequest {
  return { method: 'POST', path, query: { ...writeQuery, ...query }, body: JSON.stringify(object) };
}

const collectionOf = (resource: Resource, object: KubernetesObject): string =>
  resourcePath(resource, namespaceOf(resource, object));

function pathOf(reference: ObjectReference, subresource?: string): string {
  const rest = subresource === undefined ? [] : [subresource];
  return resourcePath(
    reference.resource,
    requireNamespace(reference.resource, reference.namespace),
    reference.name,
    ...rest,
  );
}

function namespaceOf(resource: Resource, object: KubernetesObject): string | undefined {
  return requireNamespace(resource, object.metadata.namespace);
}

function requireNamespace(resource: Resource, namespace: string | undefined): string | undefined {
  if (resource.namespaced && (namespace === undefined || namespace === '')) {
    throw new Error(`one object of ${resource.plural} needs a namespace`);
  }
  return namespace;
}

function selectors(query: ListQuery): Record<string, string> {
  return {
    ...(query.labelSelector !== undefined && { labelSelector: query.labelSelector }),
    ...(query.fieldSelector !== undefined && { fieldSelector: query.fieldSelector }),
  };
}

async function readText(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of chunks) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > maxErrorBytes) break;
  }
  return text + decoder.decode();
}

/** Opens a RestApi over the transport of this runtime. It connects at the first request. */
export async function openApi(access: Access): Promise<RestApi> {
  return new RestApi({ transport: await openTransport(access) });
}
