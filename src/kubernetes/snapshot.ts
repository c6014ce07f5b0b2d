import type { KubernetesObject } from './object.ts';

/**
 * The parts of snapshot.storage.k8s.io/v1 that we write or read (kubernetes-csi/external-snapshotter
 * client/apis).
 */
export interface VolumeSnapshot extends KubernetesObject {
  spec: {
    source: { persistentVolumeClaimName?: string; volumeSnapshotContentName?: string };
    volumeSnapshotClassName?: string;
  };
  status?: {
    boundVolumeSnapshotContentName?: string;
    creationTime?: string;
    readyToUse?: boolean;
    restoreSize?: string;
    error?: SnapshotError;
  };
}

interface SnapshotError {
  message?: string;
}

type DeletionPolicy = 'Delete' | 'Retain';

export interface VolumeSnapshotContent extends KubernetesObject {
  spec: {
    volumeSnapshotRef: { apiVersion?: string; kind?: string; namespace: string; name: string; uid?: string };
    deletionPolicy: DeletionPolicy;
    driver: string;
    volumeSnapshotClassName?: string;
    source: { volumeHandle?: string; snapshotHandle?: string };
  };
  status?: {
    snapshotHandle?: string;
    /** Nanoseconds since the epoch. */
    creationTime?: number;
    readyToUse?: boolean;
    /** Bytes. */
    restoreSize?: number;
    error?: SnapshotError;
  };
}

export interface VolumeSnapshotClass extends KubernetesObject {
  driver: string;
  deletionPolicy: DeletionPolicy;
}

/**
 * Annotations and finalizers of snapshots (external-snapshotter pkg/utils/util.go, external-provisioner
 * pkg/controller).
 */
export const snapshotAnnotations = {
  defaultClass: 'snapshot.storage.kubernetes.io/is-default-class',
  /** Set on a content whose VolumeSnapshot is being deleted: the driver may delete the snapshot, too. */
  beingDeleted: 'snapshot.storage.kubernetes.io/volumesnapshot-being-deleted',
} as const;

export const snapshotFinalizers = {
  claimIsSource: 'snapshot.storage.kubernetes.io/pvc-as-source-protection',
  snapshotIsBound: 'snapshot.storage.kubernetes.io/volumesnapshot-bound-protection',
  snapshotIsSource: 'snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection',
  contentIsBound: 'snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection',
} as const;

/** Set on a claim from which another claim is being cloned. */
export const cloningFinalizer = 'provisioner.storage.kubernetes.io/cloning-protection';
