import { persistentVolumeClaims, pods, storageClasses } from '../../../../src/kubernetes/resources.ts';
import type { PersistentVolumeClaim, StorageClass } from '../../../../src/kubernetes/types/storage.ts';
import { at, type ClusterFixture } from '../../testing/cluster-fixture.ts';
import { localProvisioner } from '../../../api-server/bootstrap.ts';

/** Returns a claim of 64 MiB in `bosh`. */
export function claim(
  name: string,
  spec: Partial<PersistentVolumeClaim['spec']> = {},
): PersistentVolumeClaim {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace: 'bosh' },
    spec: {
      accessModes: ['ReadWriteOnce'],
      resources: { requests: { storage: '64Mi' } },
      storageClassName: 'local',
      ...spec,
    },
  };
}

/** Creates a class `immediate` of the node's volumes. */
export async function createImmediateClass(
  cluster: ClusterFixture,
  reclaimPolicy: 'Delete' | 'Retain',
): Promise<void> {
  const storageClass: StorageClass = {
    metadata: { name: 'immediate' },
    provisioner: localProvisioner,
    volumeBindingMode: 'Immediate',
    reclaimPolicy,
  };
  await cluster.api.create(storageClasses, storageClass);
}

/** Waits until the claim is bound, and returns it. */
export function bound(cluster: ClusterFixture, name: string): Promise<PersistentVolumeClaim> {
  return cluster.until(`claim ${name} to be bound`, async () => {
    const found = await cluster.find<PersistentVolumeClaim>(at(persistentVolumeClaims, name));
    return found?.status?.phase === 'Bound' ? found : undefined;
  });
}

/** Waits until the object does not exist. */
export const untilDeleted = (cluster: ClusterFixture, resource: typeof pods, name: string): Promise<true> =>
  cluster.until(
    `${resource.plural} ${name} to go`,
    async () => (await cluster.find(at(resource, name))) === undefined,
  );

/** Does what the node does when the containers of a deleted pod have ended. */
export const finish = (cluster: ClusterFixture, name: string): Promise<void> =>
  cluster.api.delete(at(pods, name), { gracePeriodSeconds: 0 });
