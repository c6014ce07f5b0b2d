import type { KubernetesObject } from '../../kubernetes/object.ts';
import { persistentVolumeClaims, pods, volumeSnapshots } from '../../kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../kubernetes/types/storage.ts';
import { createDisk } from '../disk/create-disk.ts';
import type { StorageCloud } from './storage-cloud.ts';
import { namespace } from './test-cloud.ts';

export const claimOf = ({ api }: StorageCloud, name: string): Promise<PersistentVolumeClaim> =>
  api.get({ resource: persistentVolumeClaims, namespace, name });

/** Creates a disk of a class that binds at once and waits until it is bound. */
export async function boundDisk(world: StorageCloud, storageClass = 'now'): Promise<string> {
  const cid = await createDisk(world.cloud, {
    sizeMiB: 64,
    cloudProperties: { storage_class: storageClass },
  });
  while ((await claimOf(world, cid)).status?.phase !== 'Bound') await world.cloud.clock.sleep(5);
  return cid;
}

/** Returns the names of all objects that a disk method could leave. */
export async function diskObjects({ api }: StorageCloud): Promise<string[]> {
  const lists = await Promise.all(
    [persistentVolumeClaims, volumeSnapshots, pods].map((resource) =>
      api.list<KubernetesObject>(resource, { namespace }),
    ),
  );
  return lists.flatMap(({ items }) => items.map(({ metadata }) => metadata.name));
}
