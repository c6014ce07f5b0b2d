import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import {
  persistentVolumeClaims,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../../src/kubernetes/resources.ts';
import {
  type VolumeSnapshot,
  type VolumeSnapshotContent,
  snapshotAnnotations,
  snapshotFinalizers,
  type PersistentVolumeClaim,
} from '../../../src/kubernetes/types/storage.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import { patchIfUnchanged } from '../runtime/finalizers.ts';
import { contentNameOf } from './snapshot-decision.ts';

/**
 * Takes one step of the deletion of a snapshot. Waits while a claim is being restored from it. Deletes the
 * content first if the policy is Delete; with Retain the content remains unbound.
 */
export async function deleteSnapshot(
  { api, informers }: ControllerContext,
  snapshot: VolumeSnapshot,
): Promise<void> {
  if (await isSourceInUse()) return;
  const content = await findContent();
  if (content !== undefined) {
    if (content.metadata.annotations?.[snapshotAnnotations.beingDeleted] !== 'yes') {
      const annotations = { [snapshotAnnotations.beingDeleted]: 'yes' };
      await patchIfUnchanged(api, volumeSnapshotContents, content, { metadata: { annotations } });
      return;
    }
    if (content.spec.deletionPolicy === 'Delete') {
      if (content.metadata.deletionTimestamp === undefined) await remove(content);
      // The end of the content adds this snapshot to the queue again.
      return;
    }
  }
  const { finalizers = [] } = snapshot.metadata;
  const own: readonly string[] = Object.values(snapshotFinalizers);
  const others = finalizers.filter((finalizer) => !own.includes(finalizer));
  if (others.length < finalizers.length) {
    await patchIfUnchanged(api, volumeSnapshots, snapshot, { metadata: { finalizers: others } });
  }

  /**
   * Reads from the API server, not the cache, as `findContent` does: a stale cache must not cause data loss.
   */
  function isSourceInUse(): Promise<boolean> {
    const { namespace, name } = snapshot.metadata;
    return api.anyMatch(persistentVolumeClaims, { namespace }, (claim) => {
      const { spec, status } = claim as PersistentVolumeClaim;
      return (
        spec.dataSourceRef?.kind === 'VolumeSnapshot' &&
        spec.dataSourceRef.name === name &&
        status?.phase === 'Pending'
      );
    });
  }

  async function findContent(): Promise<VolumeSnapshotContent | undefined> {
    const name = contentNameOf(snapshot);
    const known = informers.snapshotContents.get(name);
    if (known !== undefined) return known;
    try {
      return await api.get<VolumeSnapshotContent>({ resource: volumeSnapshotContents, name });
    } catch (error) {
      if (isApiError(error, 404)) return undefined;
      throw error;
    }
  }

  async function remove({ metadata: { name = '', uid = '' } }: VolumeSnapshotContent): Promise<void> {
    try {
      await api.delete({ resource: volumeSnapshotContents, name }, { preconditions: { uid } });
    } catch (error) {
      if (!isApiError(error, 404)) throw error;
    }
  }
}
