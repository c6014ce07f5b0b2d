import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import {
  persistentVolumeClaims,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../../src/kubernetes/resources.ts';
import {
  type VolumeSnapshot,
  type VolumeSnapshotClass,
  type VolumeSnapshotContent,
  snapshotFinalizers,
} from '../../../src/kubernetes/types/storage.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import { timestamp } from '../runtime/event-recorder.ts';
import { addFinalizer, hasFinalizer, patchIfUnchanged } from '../runtime/finalizers.ts';
import { keyOf } from '../runtime/informer.ts';
import { WorkQueue } from '../runtime/work-queue.ts';
import { deleteSnapshot } from './end-snapshot.ts';
import { contentNameOf, decideSnapshot } from './snapshot-decision.ts';
import { contentOf, statusFrom } from './snapshot-content.ts';

const ownFinalizers = [snapshotFinalizers.snapshotIsSource, snapshotFinalizers.snapshotIsBound];
const retryMs = 5_000;

/**
 * Creates a content for each VolumeSnapshot, which the snapshot taker fills, and updates the snapshot's
 * status (external-snapshotter pkg/common-controller). A finalizer keeps its claim until the snapshot is
 * ready.
 */
export function createSnapshotController(context: ControllerContext): WorkQueue {
  const { api, informers } = context;
  const recorder = context.recorder('snapshot-controller');
  const queue = new WorkQueue('snapshot-controller', reconcile, context);

  informers.snapshots.onChange(({ key }) => {
    queue.add(key);
  });
  informers.snapshotContents.onChange(({ before, after }) => {
    const reference = (after ?? before)?.spec.volumeSnapshotRef;
    queue.add(`${reference?.namespace ?? ''}/${reference?.name ?? ''}`);
  });
  for (const informer of [informers.claims, informers.snapshotClasses]) {
    informer.onChange(() => {
      for (const snapshot of informers.snapshots.list().filter(isRetryable)) {
        queue.add(keyOf(snapshot));
      }
    });
  }

  async function reconcile(key: string): Promise<void> {
    const snapshot = informers.snapshots.get(key);
    if (snapshot === undefined) return;
    if (snapshot.metadata.deletionTimestamp !== undefined) {
      await deleteSnapshot(context, snapshot);
      return;
    }
    const missing = ownFinalizers.filter((finalizer) => !hasFinalizer(snapshot, finalizer));
    if (missing.length > 0) {
      const finalizers = [...(snapshot.metadata.finalizers ?? []), ...missing];
      await patchIfUnchanged(api, volumeSnapshots, snapshot, { metadata: { finalizers } });
      return;
    }
    const content = informers.snapshotContents.get(contentNameOf(snapshot));
    await (content === undefined ? bindContent(snapshot) : syncStatus(snapshot, content));
  }

  async function bindContent(snapshot: VolumeSnapshot): Promise<void> {
    const name = snapshot.spec.source.persistentVolumeClaimName ?? '';
    const claim = informers.claims.get(`${snapshot.metadata.namespace ?? ''}/${name}`);
    const volume = informers.volumes.get(claim?.spec.volumeName ?? '');
    const decision = decideSnapshot({ snapshot, claim, volume, classes: informers.snapshotClasses.list() });
    switch (decision.kind) {
      case 'leave':
        return;
      case 'error':
        await setError(snapshot, decision.message);
        queue.addAfter(keyOf(snapshot), retryMs);
        return;
      case 'take':
        if (claim !== undefined && !hasFinalizer(claim, snapshotFinalizers.claimIsSource)) {
          // The change of the claim adds this snapshot to the queue again.
          await addFinalizer(api, persistentVolumeClaims, claim, snapshotFinalizers.claimIsSource);
          return;
        }
        await createSnapshot(snapshot, decision.snapshotClass, decision.volumeName);
        return;
      default:
        decision satisfies never;
    }
  }

  async function createSnapshot(
    snapshot: VolumeSnapshot,
    snapshotClass: VolumeSnapshotClass,
    volumeName: string,
  ): Promise<void> {
    const className = snapshotClass.metadata.name ?? '';
    if (snapshot.spec.volumeSnapshotClassName === undefined) {
      const spec = { volumeSnapshotClassName: className };
      await patchIfUnchanged(api, volumeSnapshots, snapshot, { spec });
      return;
    }
    try {
      await api.create(volumeSnapshotContents, contentOf(snapshot, snapshotClass, volumeName));
    } catch (error) {
      // The name contains the snapshot's uid, so an existing content is from an earlier try.
      if (!isApiError(error, 409, 'AlreadyExists')) throw error;
    }
  }

  async function syncStatus(snapshot: VolumeSnapshot, content: VolumeSnapshotContent): Promise<void> {
    const status = statusFrom(content);
    if (JSON.stringify(sortedStatus(snapshot.status)) !== JSON.stringify(sortedStatus(status))) {
      await patchIfUnchanged(
        api,
        volumeSnapshots,
        snapshot,
        { status: { error: null, ...status } },
        'status',
      );
    }
  }

  async function setError(snapshot: VolumeSnapshot, message: string): Promise<void> {
    if (snapshot.status?.error?.message === message) return;
    const error = { message, time: timestamp(context.clock.now()) };
    await patchIfUnchanged(
      api,
      volumeSnapshots,
      snapshot,
      { status: { readyToUse: false, error } },
      'status',
    );
    recorder.record(
      { kind: 'VolumeSnapshot', apiVersion: 'snapshot.storage.k8s.io/v1', object: snapshot },
      { type: 'Warning', reason: 'SnapshotContentCreationFailed', message },
    );
  }

  return queue;
}

/**
 * Returns true if the snapshot is not ready yet, or is terminating, which may wait for a claim that is
 * restored from it.
 */
function isRetryable({ metadata, status }: VolumeSnapshot): boolean {
  return status?.readyToUse !== true || metadata.deletionTimestamp !== undefined;
}

const sortedStatus = (status: VolumeSnapshot['status']): unknown =>
  Object.entries(status ?? {}).toSorted(([one], [other]) => one.localeCompare(other));
