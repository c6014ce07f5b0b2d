import { formatBytes } from '../../../../src/kubernetes/types/quantity.ts';
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  type StorageClass,
  volumeAnnotations,
} from '../../../../src/kubernetes/types/storage.ts';
import type { CsiVolume } from '../grpc/messages.ts';

/**
 * Keeps the object until the driver has deleted the volume (the name is
 * kubernetes-csi/external-provisioner's).
 */
export const provisionerFinalizer = 'external-provisioner.volume.kubernetes.io/finalizer';

/** Returns the name of the volume object and of the volume at the driver. It is the same in each attempt. */
export function volumeNameOf(claim: PersistentVolumeClaim): string {
  return `pvc-${claim.metadata.uid ?? ''}`;
}

export interface VolumeObjectOptions {
  readonly driverName: string;
  readonly claim: PersistentVolumeClaim;
  readonly storageClass: StorageClass;
  readonly volume: CsiVolume;
}

/** Returns the object for a volume that the driver created, reserved for its claim. */
export function volumeObject({
  driverName,
  claim,
  storageClass,
  volume,
}: VolumeObjectOptions): PersistentVolume {
  const { name = '', namespace = '', uid = '' } = claim.metadata;
  const { volumeAttributesClassName: attributesClass } = claim.spec;
  const terms = (volume.accessibleTopology ?? []).map(({ segments }) => ({
    matchExpressions: Object.entries(segments).map(([key, value]) => ({
      key,
      operator: 'In' as const,
      values: [value],
    })),
  }));
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: {
      name: volumeNameOf(claim),
      annotations: { [volumeAnnotations.provisionedBy]: driverName },
      ...((storageClass.reclaimPolicy ?? 'Delete') === 'Delete' && { finalizers: [provisionerFinalizer] }),
    },
    spec: {
      capacity: { storage: formatBytes(BigInt(volume.capacityBytes)) },
      accessModes: claim.spec.accessModes ?? ['ReadWriteOnce'],
      claimRef: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid },
      persistentVolumeReclaimPolicy: storageClass.reclaimPolicy ?? 'Delete',
      storageClassName: storageClass.metadata.name ?? '',
      ...(attributesClass !== undefined && { volumeAttributesClassName: attributesClass }),
      volumeMode: 'Filesystem',
      csi: { driver: driverName, volumeHandle: volume.volumeId, fsType: 'ext4' },
      ...(terms.length > 0 && { nodeAffinity: { required: { nodeSelectorTerms: terms } } }),
    },
  };
}
