import { randomUUID } from 'node:crypto';
import { EventEmitter, on } from 'node:events';
import type {
  DeleteOptions,
  KubernetesApi,
  ListQuery,
  ObjectReference,
  Resource,
  WatchEvent,
  WatchQuery,
} from '../../../kubernetes/api.ts';
import { ApiError } from '../../../kubernetes/api-error.ts';
import type { KubernetesObject, ObjectList } from '../../../kubernetes/object.ts';
import type { Pod } from '../../../kubernetes/pod.ts';

const failure = (code: number, reason: string, message: string): ApiError =>
  new ApiError({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', code, reason, message });

const merge = (target: unknown, patch: unknown): unknown => {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) {
    return patch;
  }
  const result: Record<string, unknown> = { ...(target as Record<string, unknown>) };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) {
      delete result[key];
    } else {
      result[key] = merge(result[key], value);
    }
  }
  return result;
};

/** As much of an API server as a node meets: versions, conflicts, graceful deletion of pods, watch. */
export class MemoryApi implements KubernetesApi {
  readonly #objects = new Map<string, KubernetesObject>();
  readonly #changes = new EventEmitter().setMaxListeners(0);
  #version = 1;

  async get<T extends KubernetesObject>(reference: ObjectReference): Promise<T> {
    return structuredClone(this.#find(reference)) as T;
  }

  async list<T extends KubernetesObject>(resource: Resource, query: ListQuery = {}): Promise<ObjectList<T>> {
    const prefix = `${resource.plural}/${query.namespace ?? ''}`;
    const items = [...this.#objects]
      .filter(([key, object]) => key.startsWith(prefix) && matches(object, query))
      .map(([, object]) => structuredClone(object) as T);
    return { apiVersion: 'v1', kind: 'List', metadata: { resourceVersion: String(this.#version) }, items };
  }

  async create<T extends KubernetesObject>(resource: Resource, object: T): Promise<T> {
    const { namespace, name = '' } = object.metadata;
    const key = keyOf({ resource, namespace, name });
    if (this.#objects.has(key)) {
      throw failure(409, 'AlreadyExists', `${key} already exists`);
    }
    const metadata = { ...object.metadata, uid: object.metadata.uid ?? randomUUID() };
    return this.#store(resource, 'ADDED', { ...structuredClone(object), metadata });
  }

  async replace<T extends KubernetesObject>(
    resource: Resource,
    object: T,
    subresource?: 'status',
  ): Promise<T> {
    const { namespace, name = '', resourceVersion } = object.metadata;
    const known = this.#find({ resource, namespace, name });
    if (resourceVersion !== undefined && resourceVersion !== known.metadata.resourceVersion) {
      throw failure(409, 'Conflict', 'the object has been modified');
    }
    const { status } = object as { status?: unknown };
    const next = subresource === 'status' ? ({ ...known, status } as unknown as T) : object;
    return this.#store(resource, 'MODIFIED', structuredClone(next));
  }

  async patch<T extends KubernetesObject>(reference: ObjectReference, patch: unknown): Promise<T> {
    const known = this.#find(reference);
    return this.#store(reference.resource, 'MODIFIED', merge(known, patch) as T);
  }

  async delete(reference: ObjectReference, options: DeleteOptions = {}): Promise<void> {
    const object = this.#find(reference);
    const { resource } = reference;
    if (options.preconditions?.uid !== undefined && options.preconditions.uid !== object.metadata.uid) {
      throw failure(409, 'Conflict', 'the UID in the precondition does not match');
    }
    const grace = options.gracePeriodSeconds ?? (object as Pod).spec?.terminationGracePeriodSeconds ?? 30;
    if (resource.plural === 'pods' && grace > 0) {
      const metadata = {
        ...object.metadata,
        deletionTimestamp: new Date().toISOString(),
        deletionGracePeriodSeconds: grace,
      };
      this.#store(resource, 'MODIFIED', { ...object, metadata });
      return;
    }
    this.#objects.delete(keyOf(reference));
    this.#emit(resource, { type: 'DELETED', object });
  }

  async *watch<T extends KubernetesObject>(
    resource: Resource,
    query: WatchQuery = {},
  ): AsyncIterable<WatchEvent<T>> {
    try {
      const options = query.signal === undefined ? {} : { signal: query.signal };
      for await (const [event] of on(this.#changes, resource.plural, options)) {
        const change = event as WatchEvent<T>;
        if (change.type !== 'ERROR' && matches(change.object, query)) {
          yield structuredClone(change);
        }
      }
    } catch (error) {
      if (query.signal?.aborted !== true) {
        throw error;
      }
    }
  }

  #find(reference: ObjectReference): KubernetesObject {
    const object = this.#objects.get(keyOf(reference));
    if (object === undefined) {
      throw failure(404, 'NotFound', `${reference.resource.plural} "${reference.name}" not found`);
    }
    return object;
  }

  #store<T extends KubernetesObject>(resource: Resource, type: 'ADDED' | 'MODIFIED', object: T): T {
    this.#version += 1;
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(this.#version) } };
    const { namespace, name = '' } = stored.metadata;
    this.#objects.set(keyOf({ resource, namespace, name }), stored);
    this.#emit(resource, { type, object: stored });
    return structuredClone(stored);
  }

  #emit(resource: Resource, event: WatchEvent<KubernetesObject>): void {
    this.#changes.emit(resource.plural, event);
  }
}

const keyOf = (reference: ObjectReference): string =>
  `${reference.resource.plural}/${reference.namespace ?? ''}/${reference.name}`;

function matches(object: KubernetesObject, query: ListQuery): boolean {
  const nodeName = /^spec\.nodeName=(.*)$/.exec(query.fieldSelector ?? '')?.[1];
  return nodeName === undefined || (object as Pod).spec?.nodeName === nodeName;
}
