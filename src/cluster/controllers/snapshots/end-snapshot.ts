import { isApiError } from '../../../kubernetes/api-error.ts';
import {
  persistentVolumeClaims,
  volumeSnapshotContents,
  volumeSnapshots,
} from '../../../kubernetes/resources.ts';
import type { VolumeSnapshot, VolumeSnapshotContent } from '../../../kubernetes/snapshot.ts';
import { snapshotAnnotations, snapshotFinalizers } from '../../../kubernetes/snapshot.ts';
import type { PersistentVolumeClaim } from '../../../kubernetes/volume.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import { patchIfUnchanged } from '../runtime/finalizers.ts';
import { contentNameOf } from './snapshot-decision.ts';

/**
 * One step towards the end of a snapshot that is being deleted: not while a claim is being made from it; its content goes
 * first where the policy is Delete, and stays, bound to nobody, where it is Retain.
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
      // its end brings this snapshot back here
      return;
    }
  }
  const { finalizers = [] } = snapshot.metadata;
  const own: readonly string[] = Object.values(snapshotFinalizers);
  const others = finalizers.filter((finalizer) => !own.includes(finalizer));
  if (others.length < finalizers.length) {
    await patchIfUnchanged(api, volumeSnapshots, snapshot, { metadata: { finalizers: others } });
  }

  /** Asks the API server, as below: data goes on good grounds only. */
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
