import * as resources from '../../src/kubernetes/resources.ts';
import type { KubernetesApi } from '../../src/kubernetes/api.ts';
import type { PodDisruptionBudget, EndpointSlice, Service } from '../../src/kubernetes/types/service.ts';
import type { Lease, Node } from '../../src/kubernetes/types/node.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import type { Pod } from '../../src/kubernetes/types/pod.ts';
import type { EventRecord } from '../../src/kubernetes/describe-pod.ts';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
  VolumeAttributesClass,
  VolumeSnapshot,
  VolumeSnapshotClass,
  VolumeSnapshotContent,
} from '../../src/kubernetes/types/storage.ts';
import { Informer } from '../../src/kubernetes/controllers/informer.ts';
import type { ControllerRuntime } from '../../src/kubernetes/controllers/work-queue.ts';

/**
 * One informer for each resource that the cluster serves (api-server/kinds/all-kinds.ts), shared by all
 * controllers.
 */
export interface Informers {
  readonly namespaces: Informer;
  readonly nodes: Informer<Node>;
  readonly pods: Informer<Pod>;
  readonly secrets: Informer;
  readonly configMaps: Informer;
  readonly serviceAccounts: Informer;
  readonly roles: Informer;
  readonly roleBindings: Informer;
  readonly clusterRoles: Informer;
  readonly clusterRoleBindings: Informer;
  readonly quotas: Informer;
  readonly budgets: Informer<PodDisruptionBudget>;
  readonly priorityClasses: Informer;
  readonly runtimeClasses: Informer;
  readonly events: Informer<EventRecord>;
  readonly volumes: Informer<PersistentVolume>;
  readonly claims: Informer<PersistentVolumeClaim>;
  readonly classes: Informer<StorageClass>;
  readonly attributesClasses: Informer<VolumeAttributesClass>;
  readonly networkAttachments: Informer;
  readonly snapshots: Informer<VolumeSnapshot>;
  readonly snapshotContents: Informer<VolumeSnapshotContent>;
  readonly snapshotClasses: Informer<VolumeSnapshotClass>;
  readonly services: Informer<Service>;
  readonly endpointSlices: Informer<EndpointSlice>;
  readonly leases: Informer<Lease>;
}

export function createInformers(api: KubernetesApi, runtime: ControllerRuntime): Informers {
  const of = <T extends KubernetesObject>(resource: (typeof resources)['pods']): Informer<T> =>
    new Informer<T>(api, resource, runtime);
  return {
    namespaces: of(resources.namespaces),
    nodes: of(resources.nodes),
    pods: of(resources.pods),
    secrets: of(resources.secrets),
    configMaps: of(resources.configMaps),
    serviceAccounts: of(resources.serviceAccounts),
    roles: of(resources.roles),
    roleBindings: of(resources.roleBindings),
    clusterRoles: of(resources.clusterRoles),
    clusterRoleBindings: of(resources.clusterRoleBindings),
    quotas: of(resources.resourceQuotas),
    budgets: of(resources.podDisruptionBudgets),
    priorityClasses: of(resources.priorityClasses),
    runtimeClasses: of(resources.runtimeClasses),
    events: of(resources.events),
    volumes: of(resources.persistentVolumes),
    claims: of(resources.persistentVolumeClaims),
    classes: of(resources.storageClasses),
    attributesClasses: of(resources.volumeAttributesClasses),
    networkAttachments: of(resources.networkAttachmentDefinitions),
    snapshots: of(resources.volumeSnapshots),
    snapshotContents: of(resources.volumeSnapshotContents),
    snapshotClasses: of(resources.volumeSnapshotClasses),
    services: of(resources.services),
    endpointSlices: of(resources.endpointSlices),
    leases: of(resources.leases),
  };
}

/** Returns the informers as a list, for code that treats all kinds alike. */
export function allInformers(informers: Informers): Informer[] {
  // An informer of pods can be read as an informer of objects, because nothing writes through it.
  return Object.values(informers) as Informer[];
}
