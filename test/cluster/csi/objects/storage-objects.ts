import type { Resource } from '../../../../src/kubernetes/api.ts';
import type { KubernetesObject } from '../../../../src/kubernetes/object.ts';
import {
  storageClasses,
  volumeAttributesClasses,
  volumeSnapshotClasses,
} from '../../../../src/kubernetes/resources.ts';
import type {
  VolumeSnapshotClass,
  StorageClass,
  VolumeAttributesClass,
} from '../../../../src/kubernetes/types/storage.ts';
import { drivers, forgetful, loopDriver, plainDriver, zonalDriver, type Driver } from '../drivers.ts';

const csiDrivers: Resource = { ...storageClasses, plural: 'csidrivers' };

/** An object and its resource, to be created if it does not exist. */
export interface ClusterObject {
  readonly resource: Resource;
  readonly object: KubernetesObject;
}

interface CsiDriverObject extends KubernetesObject {
  readonly spec: object;
}

/**
 * Returns the objects that a cluster needs for the suite's drivers, in the order of creation:
 * - CSIDriver objects;
 * - the classes `loop` (the default, binds at once), `loop-wait` (binds when a pod is scheduled),
 *   `loop-retain`, `loop-plain` (of a driver that can neither grow volumes nor take snapshots), `loop-zonal`,
 *   and `loop-forgetful` (whose volumes lose their content whenever a node stages them);
 * - the VolumeAttributesClasses `loop-fast` and `loop-impossible`;
 * - the VolumeSnapshotClass `loop` if its kind is installed.
 */
export function storageObjects({ withSnapshots }: { readonly withSnapshots: boolean }): ClusterObject[] {
  return [
    ...drivers.map((driver) => ({ resource: csiDrivers, object: csiDriver(driver) })),
    ...classes.map((object) => ({ resource: storageClasses, object })),
    ...attributes.map((object) => ({ resource: volumeAttributesClasses, object })),
    ...(withSnapshots ? [{ resource: volumeSnapshotClasses, object: snapshotClass }] : []),
  ];
}

function csiDriver({ name }: Driver): CsiDriverObject {
  return {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'CSIDriver',
    metadata: { name },
    spec: {
      attachRequired: true,
      podInfoOnMount: false,
      // A pod's fsGroup is applied to its volume, as with most block storage.
      fsGroupPolicy: 'ReadWriteOnceWithFSType',
      volumeLifecycleModes: ['Persistent'],
    },
  };
}

const apiVersion = 'storage.k8s.io/v1';

const storageClass = (
  name: string,
  driver: Driver,
  rest: Partial<StorageClass> = {},
  annotations: Record<string, string> = {},
): StorageClass => ({
  apiVersion,
  kind: 'StorageClass',
  metadata: { name, annotations },
  provisioner: driver.name,
  reclaimPolicy: 'Delete',
  volumeBindingMode: 'Immediate',
  allowVolumeExpansion: driver.canExpand,
  ...rest,
});

const classes: readonly StorageClass[] = [
  storageClass('loop', loopDriver, {}, { 'storageclass.kubernetes.io/is-default-class': 'true' }),
  storageClass('loop-wait', loopDriver, { volumeBindingMode: 'WaitForFirstConsumer' }),
  storageClass('loop-retain', loopDriver, { reclaimPolicy: 'Retain' }),
  storageClass('loop-plain', plainDriver),
  storageClass('loop-forgetful', loopDriver, { parameters: { [forgetful]: 'true' } }),
  storageClass('loop-zonal', zonalDriver, { volumeBindingMode: 'WaitForFirstConsumer' }),
];

const attributes: readonly VolumeAttributesClass[] = [
  {
    apiVersion,
    kind: 'VolumeAttributesClass',
    metadata: { name: 'loop-fast' },
    driverName: loopDriver.name,
    parameters: { iops: '5000', tier: 'fast' },
  },
  {
    apiVersion,
    kind: 'VolumeAttributesClass',
    metadata: { name: 'loop-impossible' },
    driverName: loopDriver.name,
    parameters: { iops: 'unlimited' },
  },
];

const snapshotClass: VolumeSnapshotClass = {
  apiVersion: 'snapshot.storage.k8s.io/v1',
  kind: 'VolumeSnapshotClass',
  metadata: { name: 'loop', annotations: { 'snapshot.storage.kubernetes.io/is-default-class': 'true' } },
  driver: loopDriver.name,
  deletionPolicy: 'Delete',
};
