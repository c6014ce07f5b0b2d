import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import type { KubernetesObject, OwnerReference } from '../../../src/kubernetes/object.ts';
import { groupResource } from '../../api-server/errors/status-errors.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import { patchIfUnchanged } from '../runtime/finalizers.ts';
import { keyOf, splitKey } from '../runtime/informer.ts';
import { WorkQueue } from '../runtime/work-queue.ts';
import { type CollectableKind, collectableKinds, kindOfOwner } from './collectable.ts';
import { Dependents } from './dependents.ts';

/**
 * Deletes objects whose last owner, by uid, does not exist (kubernetes: pkg/controller/garbagecollector).
 * Deletion is always in the background: an owner never waits for its dependents. An owner of a kind that this
 * cluster does not serve counts as existing.
 */
export function createGarbageCollector(context: ControllerContext): WorkQueue {
  const { api, informers } = context;
  const kinds = collectableKinds(informers);
  const dependents = new Dependents();
  const queue = new WorkQueue('garbage-collector', reconcile, context);

  kinds.forEach(follow);

  function follow(kind: CollectableKind): void {
    kind.informer.onChange(({ key, before, after }) => {
      const reference = referenceTo(kind, key);
      dependents.update(reference, before, after);
      if (after !== undefined && isOwned(after)) {
        queue.add(reference);
      }
      if (before !== undefined && after === undefined) {
        for (const dependent of dependents.dependentsOf(before.metadata.uid ?? '')) queue.add(dependent);
      }
    });
  }

  function find(reference: string): { kind: CollectableKind; object: KubernetesObject } | undefined {
    const [name = '', key = ''] = reference.split('|');
    const kind = kinds.find(({ informer }) => groupResource(informer.resource) === name);
    const object = kind?.informer.get(key);
    return kind === undefined || object === undefined ? undefined : { kind, object };
  }

  async function reconcile(reference: string): Promise<void> {
    const found = find(reference);
    if (found === undefined) {
      return;
    }
    const { kind, object } = found;
    if (object.metadata.deletionTimestamp === undefined && isOwned(object)) {
      await deleteDependent(kind, object);
    }
  }

  async function deleteDependent(kind: CollectableKind, object: KubernetesObject): Promise<void> {
    const owners = object.metadata.ownerReferences ?? [];
    const counted = await Promise.all(owners.map((owner) => counts(owner, object)));
    const kept = owners.filter((_, index) => counted[index]);
    if (kept.length === 0) {
      await deleteIfUnchanged(kind, object);
    } else if (kept.length < owners.length) {
      await patchIfUnchanged(api, kind.informer.resource, object, { metadata: { ownerReferences: kept } });
    }
  }

  /** Returns true if an owner exists or cannot be looked up. */
  async function counts(owner: OwnerReference, dependent: KubernetesObject): Promise<boolean> {
    const kind = kindOfOwner(kinds, owner);
    if (kind === undefined) {
      return true;
    }
    // No such owner can exist. That is a mistake of the object's author and no reason to delete the object.
    if (kind.informer.resource.namespaced && dependent.metadata.namespace === undefined) {
      return true;
    }
    const key = ownerKey(kind, owner, dependent);
    const known = kind.informer.get(key);
    const object = known?.metadata.uid === owner.uid ? known : await getLive(kind, key);
    return object?.metadata.uid === owner.uid;
  }

  /** Reads from the API server, not the cache: the cache may lack an owner that has just been created. */
  async function getLive(kind: CollectableKind, key: string): Promise<KubernetesObject | undefined> {
    try {
      return await api.get({ resource: kind.informer.resource, ...splitKey(key) });
    } catch (error) {
      if (isApiError(error, 404)) {
        return undefined;
      }
      throw error;
    }
  }

  async function deleteIfUnchanged(kind: CollectableKind, object: KubernetesObject): Promise<void> {
    const { namespace, name = '', uid = '', resourceVersion = '' } = object.metadata;
    try {
      await api.delete(
        { resource: kind.informer.resource, namespace, name },
        { preconditions: { uid, resourceVersion } },
      );
    } catch (error) {
      if (!isApiError(error, 404)) {
        throw error;
      }
    }
  }

  return queue;
}

function referenceTo(kind: CollectableKind, key: string): string {
  return `${groupResource(kind.informer.resource)}|${key}`;
}

/** Returns the key of an owner, which is in its dependent's namespace or cluster-scoped. */
function ownerKey(kind: CollectableKind, owner: OwnerReference, dependent: KubernetesObject): string {
  const { namespace } = dependent.metadata;
  return keyOf({
    metadata: {
      name: owner.name,
      ...(kind.informer.resource.namespaced && namespace !== undefined && { namespace }),
    },
  });
}

function isOwned(object: KubernetesObject): boolean {
  return (object.metadata.ownerReferences ?? []).length > 0;
}
