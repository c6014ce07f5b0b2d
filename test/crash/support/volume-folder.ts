import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { nodes, persistentVolumeClaims, persistentVolumes } from '../../../src/kubernetes/resources.ts';
import {
  volumeAnnotations,
  type PersistentVolume,
  type PersistentVolumeClaim,
} from '../../../src/kubernetes/volume.ts';
import type { World } from '../../conformance/world.ts';
import { until } from '../../support/until.ts';

/** What a VM has as a disk's `store`: a folder of this machine, as the volumes of an embedded cluster are. */
export async function storeFolder({ api, namespace, target }: World, disk: string): Promise<string> {
  const claim = { resource: persistentVolumeClaims, namespace, name: disk };
  const name = await until(
    `${disk} to be bound`,
    async () => (await api.get<PersistentVolumeClaim>(claim)).spec.volumeName,
  );
  return join(dirname(target.kubeletRootDirectory), 'volumes', name, 'store');
}

/** Has the volume made of a disk that no VM had yet: the scheduler's word, which a pod with the disk would bring. */
export async function provision(world: World, disk: string): Promise<void> {
  const { api, namespace } = world;
  const [node] = (await api.list(nodes)).items;
  const annotations = { [volumeAnnotations.selectedNode]: node?.metadata.name ?? '' };
  await api.patch({ resource: persistentVolumeClaims, namespace, name: disk }, { metadata: { annotations } });
  await mkdir(await storeFolder(world, disk), { recursive: true });
}

/** The volumes of the namespace's claims, also of those that are gone: a volume goes when nothing has it mounted. */
export async function volumesOf({ api, namespace }: World): Promise<string[]> {
  const { items } = await api.list<PersistentVolume>(persistentVolumes);
  return items
    .filter(({ spec }) => spec.claimRef?.namespace === namespace)
    .map(({ metadata: { name = '' } }) => `persistentvolumes ${name}`);
}
