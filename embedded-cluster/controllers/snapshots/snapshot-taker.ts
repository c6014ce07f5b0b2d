import { volumeSnapshotContents } from '../../../src/kubernetes/resources.ts';
import {
  type VolumeSnapshotContent,
  snapshotAnnotations,
  snapshotFinalizers,
} from '../../../src/kubernetes/types/storage.ts';
import { localProvisioner } from '../../api-server/bootstrap.ts';
import { sizeOf } from '../volumes/claim-source.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import { timestamp } from '../runtime/event-recorder.ts';
import { isBlockedBy, patchIfUnchanged, removeFinalizer } from '../runtime/finalizers.ts';
import { WorkQueue } from '../runtime/work-queue.ts';
import { handleOf, nanoseconds } from './snapshot-content.ts';

/**
 * Takes and removes the snapshots of volumes of class `local` (external-snapshotter pkg/sidecar-controller),
 * as a driver does in a real cluster. It has its own queue, because copies take long. The data is deleted
 * with its content only if the policy is Delete.
 */
export function createSnapshotTaker(context: ControllerContext): WorkQueue {
  const { api, informers, provisioner } = context;
  const queue = new WorkQueue('snapshot-taker', reconcile, context);

  informers.snapshotContents.onChange(({ key }) => {
    queue.add(key);
  });

  async function reconcile(name: string): Promise<void> {
    const content = informers.snapshotContents.get(name);
    if (content === undefined || content.spec.driver !== localProvisioner) return;
    if (content.metadata.deletionTimestamp !== undefined) {
      await finish(content);
    } else if (content.status?.readyToUse !== true && content.spec.source.volumeHandle !== undefined) {
      await take(content, content.spec.source.volumeHandle);
    }
  }

  async function take(content: VolumeSnapshotContent, volumeName: string): Promise<void> {
    const handle = handleOf(content);
    try {
      await provisioner.takeSnapshot(handle, volumeName);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      await updateStatus(content, {
        error: { message, time: timestamp(context.clock.now()) },
        readyToUse: false,
      });
      throw error;
    }
    const capacity = sizeOf(informers.volumes.get(volumeName)?.spec.capacity?.['storage']);
    await updateStatus(content, {
      snapshotHandle: handle,
      creationTime: nanoseconds(context.clock.now()),
      readyToUse: true,
      restoreSize: Number(capacity),
      error: null,
    });
  }

  async function updateStatus(
    content: VolumeSnapshotContent,
    status: Record<string, unknown>,
  ): Promise<void> {
    await patchIfUnchanged(api, volumeSnapshotContents, content, { status }, 'status');
  }

  async function finish(content: VolumeSnapshotContent): Promise<void> {
    const { annotations = {} } = content.metadata;
    // A content that is deleted while its snapshot is not being deleted waits until the snapshot ends.
    const isReleased =
      annotations[snapshotAnnotations.beingDeleted] === 'yes' ||
      informers.snapshots.get(ownerKey(content)) === undefined;
    if (!isReleased || !isBlockedBy(content, snapshotFinalizers.contentIsBound)) return;
    if (content.spec.deletionPolicy === 'Delete') await provisioner.removeSnapshot(handleOf(content));
    await removeFinalizer(api, volumeSnapshotContents, content, snapshotFinalizers.contentIsBound);
  }

  return queue;
}

const ownerKey = ({ spec: { volumeSnapshotRef } }: VolumeSnapshotContent): string =>
  `${volumeSnapshotRef.namespace}/${volumeSnapshotRef.name}`;
