import { formatBytes } from '../../../kubernetes/quantity.ts';
import type {
  VolumeSnapshot,
  VolumeSnapshotClass,
  VolumeSnapshotContent,
} from '../../../kubernetes/snapshot.ts';
import { snapshotFinalizers } from '../../../kubernetes/snapshot.ts';
import { contentNameOf } from './snapshot-decision.ts';

const nanosecondsPerMillisecond = 1_000_000;

/** The content object for a snapshot of a volume, bound to it from the start. Pure. */
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

/** The handle, and so the directory, of a content's data. The same for each try. */
export const handleOf = (content: VolumeSnapshotContent): string => `snap-${content.metadata.uid ?? ''}`;

/** What a snapshot says about itself, given its content (external-snapshotter, updateSnapshotStatus). Pure. */
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
