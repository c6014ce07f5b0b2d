import { randomUUID } from 'node:crypto';
import { ApiError } from '../../../kubernetes/api-error.ts';
import type {
  DeleteOptions,
  ListQuery,
  ObjectReference,
  Resource,
  WatchEvent,
  WatchQuery,
} from '../../../kubernetes/api.ts';
import type { Clock } from '../../../kubernetes/clock.ts';
import type { KubernetesObject, ObjectList } from '../../../kubernetes/object.ts';
import type { Pod } from '../../../kubernetes/pod.ts';
import { namespaces, pods } from '../../../kubernetes/resources.ts';
import type { ControlPlaneApi } from '../../api/control-plane-api.ts';

interface Change {
  readonly resource: string;
  readonly version: number;
  readonly event: WatchEvent<KubernetesObject>;
}

/**
 * The port of the controllers in memory: versions, conditional writes, finalizers, graceful pods, watch.
 * Validates nothing; the same tests run against LocalApi too, which does.
 */
export class MemoryApi implements ControlPlaneApi {
  readonly #clock: Clock;
  readonly #objects = new Map<string, KubernetesObject>();
  readonly #changes: Change[] = [];
  readonly #listeners = new Set<() => void>();
  #version = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get<T extends KubernetesObject>(reference: ObjectReference): Promise<T> {
    return settle(() => structuredClone(this.#find(reference)) as T);
  }

  list<T extends KubernetesObject>(resource: Resource, query: ListQuery = {}): Promise<ObjectList<T>> {
    const items = [...this.#objects]
      .filter(([key]) => key.startsWith(`${resource.plural}|`))
      .map(([, object]) => structuredClone(object) as T)
      .filter(({ metadata }) => query.namespace === undefined || metadata.namespace === query.namespace);
    return Promise.resolve({
      apiVersion: 'v1',
      kind: 'List',
      metadata: { resourceVersion: String(this.#version) },
      items,
    });
  }

  create<T extends KubernetesObject>(resource: Resource, object: T): Promise<T> {
    return settle(() => {
      const key = keyOf({ resource, namespace: object.metadata.namespace, name: object.metadata.name ?? '' });
      if (this.#objects.has(key)) {
        throw failure(409, 'AlreadyExists', `${key} already exists`);
      }
      const stored = structuredClone(object);
      stored.metadata.uid = randomUUID();
      stored.metadata.creationTimestamp = this.#now();
      this.#put(resource, key, stored, 'ADDED');
      return structuredClone(stored);
    });
  }

  replace<T extends KubernetesObject>(resource: Resource, object: T): Promise<T> {
    const { namespace, name = '' } = object.metadata;
    return this.patch<T>({ resource, namespace, name }, object);
  }

  patch<T extends KubernetesObject>(reference: ObjectReference, patch: unknown): Promise<T> {
    return settle(() => {
      const before = this.#find(reference);
      const wanted = (patch as KubernetesObject).metadata as KubernetesObject['metadata'] | undefined;
      if (
        (wanted?.resourceVersion !== undefined &&
          wanted.resourceVersion !== before.metadata.resourceVersion) ||
        (wanted?.uid !== undefined && wanted.uid !== before.metadata.uid)
      ) {
        throw failure(409, 'Conflict', 'the object has been modified');
      }
      const after = merge(before, patch) as KubernetesObject;
      this.#store(reference, after);
      return structuredClone(after) as T;
    });
  }

  delete(reference: ObjectReference, options: DeleteOptions = {}): Promise<void> {
    return settle(() => {
      const before = this.#find(reference);
      const { uid, resourceVersion } = options.preconditions ?? {};
      if (
        (uid !== undefined && uid !== before.metadata.uid) ||
        (resourceVersion !== undefined && resourceVersion !== before.metadata.resourceVersion)
      ) {
        throw failure(409, 'Conflict', 'the precondition does not match');
      }
      const after = structuredClone(before);
      const grace = graceOf(reference.resource, after, options);
      const policy = { Foreground: ['foregroundDeletion'], Orphan: ['orphan'], Background: [] };
      after.metadata.finalizers = [
        ...(after.metadata.finalizers ?? []),
        ...policy[options.propagationPolicy ?? 'Background'],
      ];
      after.metadata.deletionTimestamp ??= this.#now();
      after.metadata.deletionGracePeriodSeconds = grace;
      this.#store(reference, after);
    });
  }

  async *watch<T extends KubernetesObject>(
    resource: Resource,
    query: WatchQuery = {},
  ): AsyncGenerator<WatchEvent<T>> {
    let seen = Number(query.resourceVersion);
    while (query.signal?.aborted !== true) {
      for (const change of this.#changes.filter(({ version }) => version > seen)) {
        seen = change.version;
        if (change.resource === resource.plural) {
          yield structuredClone(change.event) as WatchEvent<T>;
        }
      }
      if (seen >= this.#version) {
        await this.#nextChange(query.signal);
      }
    }
  }

  async bindPod(namespace: string, name: string, nodeName: string): Promise<void> {
    const pod = await this.get<Pod>({ resource: pods, namespace, name });
    if (pod.spec.nodeName !== undefined) {
      throw failure(409, 'Conflict', `pod ${name} is already assigned to node "${pod.spec.nodeName}"`);
    }
    await this.patch({ resource: pods, namespace, name }, { spec: { nodeName } });
  }

  finalizeNamespace(name: string): Promise<void> {
    return this.patch({ resource: namespaces, name }, { metadata: { finalizers: null } }).then(
      () => undefined,
    );
  }

  #find(reference: ObjectReference): KubernetesObject {
    const object = this.#objects.get(keyOf(reference));
    if (object === undefined) {
      throw failure(404, 'NotFound', `${reference.resource.plural} "${reference.name}" not found`);
    }
    return object;
  }

  #store(reference: ObjectReference, object: KubernetesObject): void {
    const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = object.metadata;
    const gone =
      deletionTimestamp !== undefined && deletionGracePeriodSeconds === 0 && finalizers.length === 0;
    this.#put(reference.resource, keyOf(reference), object, gone ? 'DELETED' : 'MODIFIED');
  }

  #put(
    resource: Resource,
    key: string,
    object: KubernetesObject,
    type: 'ADDED' | 'MODIFIED' | 'DELETED',
  ): void {
    this.#version += 1;
    object.metadata.resourceVersion = String(this.#version);
    if (type === 'DELETED') {
      this.#objects.delete(key);
    } else {
      this.#objects.set(key, object);
    }
    const event = { type, object: structuredClone(object) };
    this.#changes.push({ resource: resource.plural, version: this.#version, event });
    for (const listener of this.#listeners) {
      listener();
    }
  }

  #nextChange(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) {
        resolve();
        return;
      }
      const done = (): void => {
        this.#listeners.delete(done);
        resolve();
      };
      this.#listeners.add(done);
      signal?.addEventListener('abort', done, { once: true });
    });
  }

  #now(): string {
    return new Date(this.#clock.now()).toISOString();
  }
}

function graceOf(resource: Resource, object: KubernetesObject, options: DeleteOptions): number {
  const pod = object as Pod;
  if (resource.plural !== 'pods' || pod.spec.nodeName === undefined) {
    return 0;
  }
  return options.gracePeriodSeconds ?? pod.spec.terminationGracePeriodSeconds ?? 30;
}

function keyOf({ resource, namespace = '', name }: ObjectReference): string {
  return `${resource.plural}|${resource.namespaced ? namespace : ''}|${name}`;
}

/** RFC 7396. */
function merge(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) {
    return structuredClone(patch);
  }
  const isMapping = typeof target === 'object' && target !== null && !Array.isArray(target);
  const merged: Record<string, unknown> = isMapping ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) {
      delete merged[name];
    } else if (value !== undefined) {
      merged[name] = merge(merged[name], value);
    }
  }
  return merged;
}

function failure(code: number, reason: string, message: string): ApiError {
  return new ApiError({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    code,
    reason,
    message,
  });
}

async function settle<T>(work: () => T): Promise<T> {
  await Promise.resolve();
  return work();
}
