import { persistentVolumeClaims, persistentVolumes, storageClasses } from '../../kubernetes/resources.ts';
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  type StorageClass,
  volumeAnnotations,
} from '../../kubernetes/types/storage.ts';
import { attachDisk } from '../disk/attach-disk.ts';
import { createDisk } from '../disk/create-disk.ts';
import { createVm } from '../vm/create-vm.ts';
import { deleteVm } from '../vm/delete-vm.ts';
import type { SimulatedWorld } from './simulated-world.ts';
import { createVmRequest, namespace } from './test-cloud.ts';

/**
 * A class of the same driver as `local` that also binds at the first consumer, so update_disk copies a disk
 * to it.
 */
export const otherClass = 'other';

/**
 * Creates a disk of class `local` whose volume only a node of that zone reaches, attached to no VM; also
 * creates `otherClass`.
 */
export async function diskInZone({ cloud }: SimulatedWorld, zone: string): Promise<string> {
  const local = await cloud.api.get<StorageClass>({ resource: storageClasses, name: 'local' });
  const { provisioner, volumeBindingMode = 'Immediate' } = local;
  await cloud.api.create<StorageClass>(storageClasses, {
    ...{ metadata: { name: otherClass }, provisioner, volumeBindingMode },
  });
  const networks = { default: { type: 'dynamic' } };
  const [vm] = await createVm(cloud, createVmRequest({ networks, properties: { zone } }));
  const disk = await createDisk(cloud, { sizeMiB: 16, cloudProperties: { storage_class: 'local' } });
  await attachDisk(cloud, { vmCid: vm, diskCid: disk });
  await deleteVm(cloud, { vmCid: vm });
  return disk;
}

/** Returns the node that the scheduler chose for the disk's first pod, and those that reach its volume. */
export async function whereIs(
  { cloud: { api } }: SimulatedWorld,
  disk: string,
): Promise<{ scheduled: string | undefined; reachedFrom: readonly string[] }> {
  const claim = { resource: persistentVolumeClaims, namespace, name: disk };
  const { metadata, spec } = await api.get<PersistentVolumeClaim>(claim);
  const volume = { resource: persistentVolumes, name: spec.volumeName ?? '' };
  const { nodeAffinity } = (await api.get<PersistentVolume>(volume)).spec;
  const terms = nodeAffinity?.required?.nodeSelectorTerms ?? [];
  const reachedFrom = terms.flatMap(({ matchExpressions = [] }) =>
    matchExpressions.flatMap(({ values = [] }) => values),
  );
  return { scheduled: metadata.annotations?.[volumeAnnotations.selectedNode], reachedFrom };
}
