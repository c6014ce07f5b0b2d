import type { KubernetesObject, NamespacedObject } from '../object.ts';
import type { LabelSelector, NodeSelectorTerm } from './pod.ts';

export type AccessMode = 'ReadWriteOnce' | 'ReadOnlyMany' | 'ReadWriteMany' | 'ReadWriteOncePod';

/** The part of v1.PersistentVolumeClaim that we write or read. */
export interface PersistentVolumeClaim extends NamespacedObject {
  spec: {
    accessModes?: AccessMode[];
    resources?: { requests?: Record<string, string> };
    selector?: LabelSelector;
    /** Absent: the default class; empty: static volumes only. */
    storageClassName?: string;
    volumeMode?: 'Filesystem' | 'Block';
    volumeName?: string;
    volumeAttributesClassName?: string;
    /**
     * The source of the volume's content: a claim or a VolumeSnapshot of the namespace. The server sets both
     * fields alike.
     */
    dataSource?: DataSource;
    dataSourceRef?: DataSource;
  };
  status?: {
    phase?: 'Pending' | 'Bound' | 'Lost';
    capacity?: Record<string, string>;
    conditions?: ClaimCondition[];
    currentVolumeAttributesClassName?: string;
    /** Present while the volume is being changed to another VolumeAttributesClass. */
    modifyVolumeStatus?: ModifyVolumeStatus;
    /** The target of a running expansion, and its progress (KEP-1790). */
    allocatedResources?: Record<string, string>;
    allocatedResourceStatuses?: Record<string, string>;
  };
}

export interface DataSource {
  apiGroup?: string;
  kind: string;
  name: string;
}

export interface ClaimCondition {
  /** `Resizing`, `FileSystemResizePending`, `ModifyVolumeError` and others. */
  type: string;
  status: string;
  reason?: string;
  message?: string;
  lastProbeTime?: string;
}

export interface ModifyVolumeStatus {
  targetVolumeAttributesClassName?: string;
  status: 'Pending' | 'InProgress' | 'Infeasible';
}

/** The claim that a volume is bound to; without a uid, the claim that it is reserved for. */
export interface ClaimReference {
  apiVersion?: string;
  kind?: string;
  namespace: string;
  name: string;
  uid?: string;
}

/** The part of v1.PersistentVolume that we write or read. */
export interface PersistentVolume extends KubernetesObject {
  spec: {
    capacity?: Record<string, string>;
    accessModes?: AccessMode[];
    claimRef?: ClaimReference;
    persistentVolumeReclaimPolicy?: 'Delete' | 'Retain' | 'Recycle';
    storageClassName?: string;
    volumeAttributesClassName?: string;
    volumeMode?: 'Filesystem' | 'Block';
    nodeAffinity?: { required?: { nodeSelectorTerms: NodeSelectorTerm[] } };
    hostPath?: { path: string };
    csi?: { driver: string; volumeHandle?: string; fsType?: string };
    local?: { path: string };
    nfs?: { server: string; path: string };
  };
  status?: {
    phase?: 'Pending' | 'Available' | 'Bound' | 'Released' | 'Failed';
  };
}

/** storage.k8s.io/v1 StorageClass. */
export interface StorageClass extends KubernetesObject {
  provisioner: string;
  reclaimPolicy?: 'Delete' | 'Retain';
  volumeBindingMode?: 'Immediate' | 'WaitForFirstConsumer';
  allowVolumeExpansion?: boolean;
  parameters?: Record<string, string>;
}

/** storage.k8s.io/v1 VolumeAttributesClass: the parameters that a driver can change on an existing volume. */
export interface VolumeAttributesClass extends KubernetesObject {
  driverName: string;
  parameters?: Record<string, string>;
}

/**
 * Annotations and finalizers of claims and volumes (kubernetes: pkg/controller/volume/persistentvolume/util).
 */
export const volumeAnnotations = {
  bindCompleted: 'pv.kubernetes.io/bind-completed',
  boundByController: 'pv.kubernetes.io/bound-by-controller',
  provisionedBy: 'pv.kubernetes.io/provisioned-by',
  selectedNode: 'volume.kubernetes.io/selected-node',
  storageProvisioner: 'volume.kubernetes.io/storage-provisioner',
  defaultClass: 'storageclass.kubernetes.io/is-default-class',
} as const;

/**
 * The parts of snapshot.storage.k8s.io/v1 that we write or read (kubernetes-csi/external-snapshotter
 * client/apis).
 */
export interface VolumeSnapshot extends NamespacedObject {
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
