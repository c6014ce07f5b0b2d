import { isApiError } from '../../src/kubernetes/client/api-error.ts';
import type { KubernetesApi, Resource } from '../../src/kubernetes/api.ts';
import type { KubernetesObject } from '../../src/kubernetes/object.ts';
import { namespaces, storageClasses, volumeSnapshotClasses } from '../../src/kubernetes/resources.ts';
import { snapshotAnnotations } from '../../src/kubernetes/types/storage.ts';
import { bootstrapObjects } from './access/built-in-roles.ts';
import { defaultClassAnnotation } from './kinds/storage-classes.ts';

/** The namespace of the kubeconfig's context, which contains BOSH's objects. */
export const boshNamespace = 'bosh';

/** The provisioner of the class `local`, whose volumes the claim binder creates. */
export const localProvisioner = 'bosh-kubernetes.io/local';

const namespaceNames = ['default', 'kube-system', 'kube-public', 'kube-node-lease', boshNamespace];

/** Creates the initial objects of a cluster that do not exist yet. Idempotent. */
export async function bootstrapCluster(api: KubernetesApi): Promise<void> {
  for (const name of namespaceNames) await createIfMissing(api, namespaces, { metadata: { name } });
  for (const [resource, object] of bootstrapObjects(namespaceNames))
    await createIfMissing(api, resource, object);
  await createIfMissing(api, storageClasses, {
    metadata: { name: 'local', annotations: { [defaultClassAnnotation]: 'true' } },
    provisioner: localProvisioner,
    reclaimPolicy: 'Delete',
    volumeBindingMode: 'WaitForFirstConsumer',
    allowVolumeExpansion: true,
  });
  await createIfMissing(api, volumeSnapshotClasses, {
    metadata: { name: 'local', annotations: { [snapshotAnnotations.defaultClass]: 'true' } },
    driver: localProvisioner,
    deletionPolicy: 'Delete',
  });
}

async function createIfMissing(
  api: KubernetesApi,
  resource: Resource,
  object: KubernetesObject & Readonly<Record<string, unknown>>,
): Promise<void> {
  try {
    await api.create(resource, object);
  } catch (error) {
    if (!isApiError(error, 409, 'AlreadyExists')) throw error;
  }
}
