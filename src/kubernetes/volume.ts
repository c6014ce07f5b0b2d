import type { KubernetesObject } from './object.ts';
import type { LabelSelector, NodeSelectorTerm } from './pod.ts';

export type AccessMode = 'ReadWriteOnce' | 'ReadOnlyMany' | 'ReadWriteMany' | 'ReadWriteOncePod';

/** The part of v1.PersistentVolumeClaim that we write or read. */
export interface PersistentVolumeClaim extends KubernetesObject {
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
