import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { nodes, persistentVolumeClaims, persistentVolumes } from '../../../src/kubernetes/resources.ts';
import {
  volumeAnnotations,
  type PersistentVolume,
  type PersistentVolumeClaim,
} from '../../../src/kubernetes/types/storage.ts';
import type { World } from '../../conformance/world.ts';
import { until } from '../../support/until.ts';

/** Returns a disk's `store` directory, which is on this machine like all volumes of an embedded cluster. */
export async function storeDirectory({ api, namespace, target }: World, disk: string): Promise<string> {
  const claim = { resource: persistentVolumeClaims, namespace, name: disk };
  const name = await until(
    `${disk} to be bound`,
    async () => (await api.get<PersistentVolumeClaim>(claim)).spec.volumeName,
  );
  return join(dirname(target.kubeletRootDirectory), 'volumes', name, 'store');
}

/**
 * Lets the volume of a disk be created that no VM had yet, by the annotation that the scheduler would set for
 * a pod with the disk.
 */
export async function provision(world: World, disk: string): Promise<void> {
  const { api, namespace } = world;
  const [node] = (await api.list(nodes)).items;
  const annotations = { [volumeAnnotations.selectedNode]: node?.metadata.name ?? '' };
  await api.patch({ resource: persistentVolumeClaims, namespace, name: disk }, { metadata: { annotations } });
  await mkdir(await storeDirectory(world, disk), { recursive: true });
}

/**
 * Returns the volumes of the namespace's claims, including deleted ones: a volume is deleted when nothing has
 * it mounted.
 */
export async function volumesOf({ api, namespace }: World): Promise<string[]> {
  const { items } = await api.list<PersistentVolume>(persistentVolumes);
  return items
    .filter(({ spec }) => spec.claimRef?.namespace === namespace)
    .map(({ metadata: { name } }) => `persistentvolumes ${name}`);
}
