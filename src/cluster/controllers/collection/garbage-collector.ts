import { isApiError } from '../../../kubernetes/api-error.ts';
import type { DeleteOptions } from '../../../kubernetes/api.ts';
import type { KubernetesObject, OwnerReference } from '../../../kubernetes/object.ts';
import { jsonEqual } from '../../api/schema/json.ts';
import { groupResource } from '../../api/errors/status-errors.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import { awaitsFinalizer, hasFinalizer, patchSeen, removeFinalizer } from '../runtime/finalizers.ts';
import { keyOf, splitKey } from '../runtime/informer.ts';
import { WorkQueue } from '../runtime/work-queue.ts';
import type { CollectableKind } from './collectable.ts';
import { collectableKinds, kindOfOwner } from './collectable.ts';
import { Dependents } from './dependents.ts';

const foreground = 'foregroundDeletion';
const orphan = 'orphan';

type OwnerState = 'present' | 'absent' | 'leaving' | 'unknown';

/**
 * Deletes what lost its last owner, by uid (kubernetes: pkg/controller/garbagecollector). An owner that is deleted
 * with propagation Foreground goes after its blocking dependents; with Orphan its dependents stay without it.
 * An owner of a kind that this cluster does not serve counts as present.
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
      if (after !== undefined && (isOwned(after) || isLeaving(after))) {
        queue.add(reference);
      }
      if (before === undefined) {
        return;
      }
      if (after === undefined) {
        addAll(dependents.of(before.metadata.uid ?? ''));
      }
      if (!jsonEqual(before.metadata.ownerReferences, after?.metadata.ownerReferences)) {
        addOwners(before);
      }
    });
  }

  function addAll(references: readonly string[]): void {
    for (const reference of references) {
      queue.add(reference);
    }
  }

  /** An owner may have waited for this dependent to go, or to let it go. */
  function addOwners(object: KubernetesObject): void {
    for (const owner of object.metadata.ownerReferences ?? []) {
      const kind = kindOfOwner(kinds, owner);
      if (kind !== undefined) {
        queue.add(referenceTo(kind, ownerKey(kind, owner, object)));
      }
    }
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
    if (awaitsFinalizer(object, foreground)) {
      await finishForeground(kind, object);
    } else if (awaitsFinalizer(object, orphan)) {
      await orphanDependents(kind, object);
    } else if (object.metadata.deletionTimestamp === undefined && isOwned(object)) {
      await collect(kind, object);
    }
  }

  async function collect(kind: CollectableKind, object: KubernetesObject): Promise<void> {
    const owners = object.metadata.ownerReferences ?? [];
    const states = await Promise.all(owners.map((owner) => stateOf(owner, object)));
    if (states.some((state) => state === 'present' || state === 'unknown')) {
      const kept = owners.filter((_, index) => states[index] === 'present' || states[index] === 'unknown');
      if (kept.length < owners.length) {
        await patchSeen(api, kind.informer.resource, object, { metadata: { ownerReferences: kept } });
      }
      return;
    }
    const below = dependents.of(object.metadata.uid ?? '');
    if (!states.includes('leaving') || below.length === 0) {
      await deleteSeen(kind, object, policyOf(object));
      return;
    }
    // with a leaving owner, whatever depends on this object has to go before it too, unless they wait in a circle
    if (below.some((one) => isForeground(find(one)?.object))) {
      const unblocked = owners.map((owner) => ({ ...owner, blockOwnerDeletion: false }));
      await patchSeen(api, kind.informer.resource, object, { metadata: { ownerReferences: unblocked } });
    }
    await deleteSeen(kind, object, 'Foreground');
  }

  async function stateOf(owner: OwnerReference, dependent: KubernetesObject): Promise<OwnerState> {
    const kind = kindOfOwner(kinds, owner);
    if (kind === undefined) {
      return 'unknown';
    }
    // no such owner can be found: a mistake of the object's author, and no reason to delete it
    if (kind.informer.resource.namespaced && dependent.metadata.namespace === undefined) {
      return 'unknown';
    }
    const key = ownerKey(kind, owner, dependent);
    const known = kind.informer.get(key);
    const object = known?.metadata.uid === owner.uid ? known : await getLive(kind, key);
    if (object?.metadata.uid !== owner.uid) {
      return 'absent';
    }
    return isForeground(object) ? 'leaving' : 'present';
  }

  /** The copy may not have an owner yet that was created a moment ago. */
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

  async function finishForeground(kind: CollectableKind, owner: KubernetesObject): Promise<void> {
    const uid = owner.metadata.uid ?? '';
    const references = dependents.of(uid);
    const blocking = references.filter((reference) =>
      find(reference)?.object.metadata.ownerReferences?.some(
        (one) => one.uid === uid && one.blockOwnerDeletion === true,
      ),
    );
    if (blocking.length === 0) {
      await removeFinalizer(api, kind.informer.resource, owner, foreground);
      return;
    }
    addAll(references);
  }

  async function orphanDependents(kind: CollectableKind, owner: KubernetesObject): Promise<void> {
    const uid = owner.metadata.uid ?? '';
    for (const reference of dependents.of(uid)) {
      const found = find(reference);
      if (found !== undefined) {
        const ownerReferences = (found.object.metadata.ownerReferences ?? []).filter(
          (one) => one.uid !== uid,
        );
        await patchSeen(api, found.kind.informer.resource, found.object, { metadata: { ownerReferences } });
      }
    }
    await removeFinalizer(api, kind.informer.resource, owner, orphan);
  }

  async function deleteSeen(
    kind: CollectableKind,
    object: KubernetesObject,
    propagationPolicy: NonNullable<DeleteOptions['propagationPolicy']>,
  ): Promise<void> {
    const { namespace, name = '', uid = '', resourceVersion = '' } = object.metadata;
    try {
      await api.delete(
        { resource: kind.informer.resource, namespace, name },
        { propagationPolicy, preconditions: { uid, resourceVersion } },
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

/** An owner lives in its dependent's namespace or in none. */
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

function isLeaving(object: KubernetesObject): boolean {
  return awaitsFinalizer(object, foreground) || awaitsFinalizer(object, orphan);
}

const isForeground = (object: KubernetesObject | undefined): boolean =>
  object !== undefined && awaitsFinalizer(object, foreground);

/** As the object's own finalizers say. */
function policyOf(object: KubernetesObject): NonNullable<DeleteOptions['propagationPolicy']> {
  if (hasFinalizer(object, orphan)) return 'Orphan';
  return hasFinalizer(object, foreground) ? 'Foreground' : 'Background';
}
