import type { OwnerReference } from '../../../src/kubernetes/object.ts';
import type { Informer } from '../runtime/informer.ts';
import type { Informers } from '../runtime/informers.ts';

/** A kind of object that can own objects and be owned. */
export interface CollectableKind {
  readonly kind: string;
  readonly apiVersion: string;
  readonly informer: Informer;
}

/** Returns every kind that the cluster serves, except events, which own nothing and expire. */
export function collectableKinds(informers: Informers): CollectableKind[] {
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
export function kindOfOwner(
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
