import { Controller } from '../../src/kubernetes/controllers/controller.ts';
import { ignoreNotFound } from '../../src/kubernetes/api.ts';
import type { KubernetesObject, OwnerReference, Stored } from '../../src/kubernetes/object.ts';
import { groupResource } from '../api-server/errors/status-errors.ts';
import type { ControllerContext } from './controller-context.ts';
import { deleteSameVersion, patchSameVersion } from '../../src/kubernetes/controllers/conditional-writes.ts';
import { keyOf, splitKey, type Informer } from '../../src/kubernetes/controllers/informer.ts';
import type { Informers } from './informers.ts';

/** A kind of object that can own objects and be owned. */
interface CollectableKind {
  readonly kind: string;
  readonly apiVersion: string;
  readonly informer: Informer;
}

/** Dependents by the uids of their owners, whether the owners exist or not. */
class Dependents {
  readonly #byOwner = new Map<string, Set<string>>();

  /** Applies one change of the object that `reference` names. */
  update(reference: string, before: KubernetesObject | undefined, after: KubernetesObject | undefined): void {
    for (const uid of ownerUids(before)) {
      const known = this.#byOwner.get(uid);
      known?.delete(reference);
      if (known?.size === 0) {
        this.#byOwner.delete(uid);
      }
    }
    for (const uid of ownerUids(after)) {
      const known = this.#byOwner.get(uid) ?? new Set();
      this.#byOwner.set(uid, known.add(reference));
    }
  }

  dependentsOf(ownerUid: string): string[] {
    return [...(this.#byOwner.get(ownerUid) ?? [])];
  }
}

/**
 * Deletes objects whose last owner, by uid, does not exist (kubernetes: pkg/controller/garbagecollector).
 * Deletion is always in the background: an owner never waits for its dependents. An owner of a kind that this
 * cluster does not serve counts as existing.
 */
export class GarbageCollector extends Controller {
  readonly #api: ControllerContext['api'];
  readonly #kinds: readonly CollectableKind[];
  readonly #dependents = new Dependents();

  constructor(context: ControllerContext) {
    super('garbage-collector', context);
    this.#api = context.api;
    this.#kinds = collectableKinds(context.informers);

    for (const kind of this.#kinds) this.#follow(kind);
  }

  #follow(kind: CollectableKind): void {
    kind.informer.onChange(({ key, before, after }) => {
      const reference = referenceTo(kind, key);
      this.#dependents.update(reference, before, after);
      if (after !== undefined && isOwned(after)) {
        this.queue.add(reference);
      }
      if (before !== undefined && after === undefined) {
        for (const dependent of this.#dependents.dependentsOf(before.metadata.uid)) this.queue.add(dependent);
      }
    });
  }

  #find(reference: string): { kind: CollectableKind; object: Stored<KubernetesObject> } | undefined {
    const [name = '', key = ''] = reference.split('|');
    const kind = this.#kinds.find(({ informer }) => groupResource(informer.resource) === name);
    const object = kind?.informer.get(key);
    return kind === undefined || object === undefined ? undefined : { kind, object };
  }

  protected override async reconcile(reference: string): Promise<void> {
    const found = this.#find(reference);
    if (found === undefined) {
      return;
    }
    const { kind, object } = found;
    if (object.metadata.deletionTimestamp === undefined && isOwned(object)) {
      await this.#deleteDependent(kind, object);
    }
  }

  async #deleteDependent(kind: CollectableKind, object: Stored<KubernetesObject>): Promise<void> {
    const owners = object.metadata.ownerReferences ?? [];
    const exists = await Promise.all(owners.map((owner) => this.#ownerExists(owner, object)));
    const kept = owners.filter((_, index) => exists[index]);
    if (kept.length === 0) {
      await deleteSameVersion(this.#api, kind.informer.resource, object);
    } else if (kept.length < owners.length) {
      await patchSameVersion(this.#api, kind.informer.resource, object, {
        metadata: { ownerReferences: kept },
      });
    }
  }

  /** Returns true if an owner exists or cannot be looked up. */
  async #ownerExists(owner: OwnerReference, dependent: KubernetesObject): Promise<boolean> {
    const kind = kindOfOwner(this.#kinds, owner);
    if (kind === undefined) {
      return true;
    }
    // No such owner can exist. That is a mistake of the object's author and no reason to delete the object.
    if (kind.informer.resource.namespaced && dependent.metadata.namespace === undefined) {
      return true;
    }
    const key = ownerKey(kind, owner, dependent);
    const known = kind.informer.get(key);
    const object = known?.metadata.uid === owner.uid ? known : await this.#getLive(kind, key);
    return object?.metadata.uid === owner.uid;
  }

  /** Reads from the API server, not the cache: the cache may lack an owner that has just been created. */
  #getLive(kind: CollectableKind, key: string): Promise<KubernetesObject | undefined> {
    return ignoreNotFound(this.#api.get({ resource: kind.informer.resource, ...splitKey(key) }));
  }
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

function ownerUids(object: KubernetesObject | undefined): string[] {
  return (object?.metadata.ownerReferences ?? []).map(({ uid }) => uid);
}

/** Returns every kind that the cluster serves, except events, which own nothing and expire. */
function collectableKinds(informers: Informers): CollectableKind[] {
  const core = (kind: string, informer: unknown): CollectableKind => ({
    kind,
    apiVersion: 'v1',
    // Only metadata of the objects is read.
    informer: informer as Informer,
  });
  const rbac = (kind: string, informer: unknown): CollectableKind => ({
    ...core(kind, informer),
    apiVersion: 'rbac.authorization.k8s.io/v1',
  });
  const snapshot = (kind: string, informer: unknown): CollectableKind => ({
    ...core(kind, informer),
    apiVersion: 'snapshot.storage.k8s.io/v1',
  });
  return [
    core('Pod', informers.pods),
    core('Secret', informers.secrets),
    core('ConfigMap', informers.configMaps),
    core('ServiceAccount', informers.serviceAccounts),
    core('ResourceQuota', informers.quotas),
    rbac('Role', informers.roles),
    rbac('RoleBinding', informers.roleBindings),
    rbac('ClusterRole', informers.clusterRoles),
    rbac('ClusterRoleBinding', informers.clusterRoleBindings),
    { ...core('PodDisruptionBudget', informers.budgets), apiVersion: 'policy/v1' },
    { ...core('PriorityClass', informers.priorityClasses), apiVersion: 'scheduling.k8s.io/v1' },
    { ...core('RuntimeClass', informers.runtimeClasses), apiVersion: 'node.k8s.io/v1' },
    core('PersistentVolumeClaim', informers.claims),
    core('PersistentVolume', informers.volumes),
    core('Service', informers.services),
    { ...core('EndpointSlice', informers.endpointSlices), apiVersion: 'discovery.k8s.io/v1' },
    core('Node', informers.nodes),
    core('Namespace', informers.namespaces),
    { ...core('Lease', informers.leases), apiVersion: 'coordination.k8s.io/v1' },
    { ...core('StorageClass', informers.classes), apiVersion: 'storage.k8s.io/v1' },
    {
      ...core('VolumeAttributesClass', informers.attributesClasses),
      apiVersion: 'storage.k8s.io/v1',
    },
    {
      ...core('NetworkAttachmentDefinition', informers.networkAttachments),
      apiVersion: 'k8s.cni.cncf.io/v1',
    },
    snapshot('VolumeSnapshot', informers.snapshots),
    snapshot('VolumeSnapshotClass', informers.snapshotClasses),
    snapshot('VolumeSnapshotContent', informers.snapshotContents),
  ];
}

/**
 * Returns the kind that an owner reference names. The reference may have another version of the same group.
 */
function kindOfOwner(
  kinds: readonly CollectableKind[],
  reference: OwnerReference,
): CollectableKind | undefined {
  return kinds.find(
    ({ kind, apiVersion }) =>
      kind === reference.kind && groupOf(apiVersion) === groupOf(reference.apiVersion),
  );
}

function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash < 0 ? '' : apiVersion.slice(0, slash);
}
