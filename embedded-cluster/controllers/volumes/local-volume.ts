import type { Stored } from '../../../src/kubernetes/object.ts';
import { type Node, machineLabel } from '../../../src/kubernetes/types/node.ts';
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  type StorageClass,
  volumeAnnotations,
} from '../../../src/kubernetes/types/storage.ts';
import { localProvisioner } from '../../api-server/bootstrap.ts';

/**
 * Keeps the volume object until its directory is removed (the finalizer of
 * kubernetes-csi/external-provisioner).
 */
export const provisionerFinalizer = 'external-provisioner.volume.kubernetes.io/finalizer';

/**
 * Returns the name of a claim's volume, which is also the name of its directory. It is the same for each try.
 */
export function volumeNameOf(claim: Stored<PersistentVolumeClaim>): string {
  return `pvc-${claim.metadata.uid}`;
}

/** Returns true if the provisioner of this cluster made the volume. */
export function isLocalVolume(volume: PersistentVolume): boolean {
  return volume.metadata.annotations?.[volumeAnnotations.provisionedBy] === localProvisioner;
}

export interface LocalVolumeOptions {
  readonly claim: Stored<PersistentVolumeClaim>;
  readonly storageClass: StorageClass;
  readonly node: Node;
  /** The absolute path of the volume's directory on that node. */
  readonly path: string;
}

/** Returns the volume object of a provisioned directory, already bound to its claim. Pure. */
export function localVolume({ claim, storageClass, node, path }: LocalVolumeOptions): PersistentVolume {
  const { name, namespace, uid } = claim.metadata;
  const { volumeAttributesClassName: attributesClass } = claim.spec;
  const { labels = {}, name: nodeName } = node.metadata;
  const key = labels[machineLabel] === undefined ? 'kubernetes.io/hostname' : machineLabel;
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: {
      name: volumeNameOf(claim),
      annotations: { [volumeAnnotations.provisionedBy]: localProvisioner },
      finalizers: [provisionerFinalizer, 'kubernetes.io/pv-protection'],
    },
    spec: {
      capacity: { storage: claim.spec.resources?.requests?.['storage'] ?? '0' },
      accessModes: claim.spec.accessModes ?? ['ReadWriteOnce'],
      claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid },
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? 'Delete',
      storageClassName: storageClass.metadata.name,
      ...(attributesClass !== undefined && { volumeAttributesClassName: attributesClass }),
      volumeMode: 'Filesystem',
      hostPath: { path },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key, operator: 'In', values: [labels[key] ?? nodeName] }] },
          ],
        },
      },
    },
  };
}
