import { formatBytes } from '../../../src/kubernetes/types/quantity.ts';
import {
  type VolumeSnapshot,
  type VolumeSnapshotClass,
  type VolumeSnapshotContent,
  snapshotFinalizers,
} from '../../../src/kubernetes/types/storage.ts';
import { contentNameOf } from './snapshot-decision.ts';

const nanosecondsPerMillisecond = 1_000_000;

/** Returns the content object for a snapshot of a volume, already bound to the snapshot. Pure. */
export function contentOf(
  snapshot: VolumeSnapshot,
  snapshotClass: VolumeSnapshotClass,
  volumeName: string,
): VolumeSnapshotContent {
  const { name = '', namespace = '', uid = '' } = snapshot.metadata;
  return {
    apiVersion: 'snapshot.storage.k8s.io/v1',
    kind: 'VolumeSnapshotContent',
    metadata: { name: contentNameOf(snapshot), finalizers: [snapshotFinalizers.contentIsBound] },
    spec: {
      volumeSnapshotRef: {
        apiVersion: 'snapshot.storage.k8s.io/v1',
        kind: 'VolumeSnapshot',
        ...{ namespace, name, uid },
      },
      deletionPolicy: snapshotClass.deletionPolicy,
      driver: snapshotClass.driver,
      volumeSnapshotClassName: snapshotClass.metadata.name ?? '',
      source: { volumeHandle: volumeName },
    },
  };
}

/** Returns the handle of a content's data, which names its directory. It is the same for each try. */
export const handleOf = (content: VolumeSnapshotContent): string => `snap-${content.metadata.uid ?? ''}`;

/**
 * Returns the status of a snapshot for the status of its content (external-snapshotter,
 * updateSnapshotStatus). Pure.
 */
export function statusFrom({ metadata, status = {} }: VolumeSnapshotContent): VolumeSnapshot['status'] {
  const { creationTime, restoreSize, readyToUse = false, error } = status;
  return {
    boundVolumeSnapshotContentName: metadata.name ?? '',
    readyToUse,
    ...(creationTime !== undefined && { creationTime: timeOf(creationTime) }),
    ...(restoreSize !== undefined && { restoreSize: formatBytes(BigInt(restoreSize)) }),
    ...(error !== undefined && { error }),
  };
}

const timeOf = (nanoseconds: number): string =>
  `${new Date(nanoseconds / nanosecondsPerMillisecond).toISOString().slice(0, 19)}Z`;

export const nanoseconds = (milliseconds: number): number => milliseconds * nanosecondsPerMillisecond;
