import { isApiError } from '../../../src/kubernetes/client/api-error.ts';
import { persistentVolumeClaims, persistentVolumes } from '../../../src/kubernetes/resources.ts';
import {
  type ClaimReference,
  type PersistentVolume,
  type PersistentVolumeClaim,
  volumeAnnotations,
} from '../../../src/kubernetes/types/storage.ts';
import type { ControllerContext } from '../runtime/controller.ts';
import { timestamp } from '../runtime/event-recorder.ts';
import { isBlockedBy, patchIfUnchanged, removeFinalizer } from '../runtime/finalizers.ts';
import { WorkQueue } from '../runtime/work-queue.ts';
import { isLocalVolume, provisionerFinalizer } from './local-volume.ts';

type Phase = NonNullable<PersistentVolume['status']>['phase'];

/**
 * Updates a volume's phase and, when its claim is deleted, applies its reclaim policy. Delete removes the
 * directory first and then the object; a volume that is still in use stays Released, with an event, and is
 * retried. Retain changes nothing.
 */
export function createVolumeReclaimer(context: ControllerContext): WorkQueue {
  const { api, informers, provisioner } = context;
  const recorder = context.recorder('persistentvolume-controller');
  const queue = new WorkQueue('volume-reclaimer', reconcile, context);

  informers.volumes.onChange(({ key }) => {
    queue.add(key);
  });
  informers.claims.onChange(({ before, after }) => {
    const name = (after ?? before)?.spec.volumeName;
    if (name !== undefined && name !== '') {
      queue.add(name);
    }
    const uid = before?.metadata.uid;
    // A claim that was deleted before it was bound may still have a volume.
    if (after === undefined && uid !== undefined) {
      queue.add(`pvc-${uid}`);
    }
  });

  async function reconcile(name: string): Promise<void> {
    const volume = informers.volumes.get(name);
    if (volume === undefined) {
      return;
    }
    const reference = volume.spec.claimRef;
    if (reference?.uid === undefined || reference.uid === '') {
      if (!(await changePhase(volume, 'Available'))) {
        await release(volume);
      }
      return;
    }
    const claim = await findClaim(reference);
    if (claim !== undefined) {
      await changePhase(volume, 'Bound');
      return;
    }
    if (!(await changePhase(volume, 'Released'))) {
      await reclaim(volume);
    }
  }

  async function reclaim(volume: PersistentVolume): Promise<void> {
    if (volume.spec.persistentVolumeReclaimPolicy !== 'Delete') {
      await release(volume);
      return;
    }
    if (isExternallyProvisioned(volume)) {
      return;
    }
    if (!isLocalVolume(volume)) {
      await fail(volume, 'no provisioner of this cluster made the volume, so nothing here can delete it');
      return;
    }
    await removeDirectory(volume);
    const { name = '', uid = '' } = volume.metadata;
    if (volume.metadata.deletionTimestamp === undefined) {
      await ignoreMissing(api.delete({ resource: persistentVolumes, name }, { preconditions: { uid } }));
      // The volume is queued again by the change of the object, which now waits for its finalizer.
      return;
    }
    await release(volume);
  }

  /**
   * Removes the finalizer of a deleted PersistentVolume. The directory is kept unless `removeDirectory` ran
   * before.
   */
  async function release(volume: PersistentVolume): Promise<void> {
    if (!isExternallyProvisioned(volume) && isBlockedBy(volume, provisionerFinalizer)) {
      await removeFinalizer(api, persistentVolumes, volume, provisionerFinalizer);
    }
  }

  async function removeDirectory(volume: PersistentVolume): Promise<void> {
    try {
      await provisioner.remove(volume.metadata.name ?? '');
    } catch (error) {
      report(volume, error instanceof Error ? error.message : String(error));
      throw error;
    }
  }

  async function fail(volume: PersistentVolume, message: string): Promise<void> {
    if (volume.status?.phase !== 'Failed') {
      await patchIfUnchanged(
        api,
        persistentVolumes,
        volume,
        { status: { phase: 'Failed', message } },
        'status',
      );
      report(volume, message);
    }
  }

  /**
   * Changes the phase. Returns true if it was another one; the change then adds the volume to the queue
   * again.
   */
  async function changePhase(volume: PersistentVolume, phase: Phase): Promise<boolean> {
    const now = volume.status?.phase;
    // A Released volume that nothing here can delete stays Failed.
    if (now === phase || (now === 'Failed' && phase === 'Released')) {
      return false;
    }
    const status = { phase, lastPhaseTransitionTime: timestamp(context.clock.now()) };
    await patchIfUnchanged(api, persistentVolumes, volume, { status }, 'status');
    return true;
  }

  /** Reads from the API server, not the cache: a stale cache must not cause data loss. */
  async function findClaim(reference: ClaimReference): Promise<PersistentVolumeClaim | undefined> {
    const { namespace, name, uid } = reference;
    try {
      const claim = await api.get<PersistentVolumeClaim>({
        resource: persistentVolumeClaims,
        namespace,
        name,
      });
      return claim.metadata.uid === uid ? claim : undefined;
    } catch (error) {
      if (isApiError(error, 404)) {
        return undefined;
      }
      throw error;
    }
  }

  function report(volume: PersistentVolume, message: string): void {
    recorder.record(
      { kind: 'PersistentVolume', apiVersion: 'v1', object: volume },
      { type: 'Warning', reason: 'VolumeFailedDelete', message },
    );
  }

  return queue;
}

/**
 * Returns true for a volume of an external provisioner, which also deletes the volume and its object
 * (pv_controller.go, doDeleteVolume).
 */
function isExternallyProvisioned(volume: PersistentVolume): boolean {
  return (
    (volume.metadata.annotations?.[volumeAnnotations.provisionedBy] ?? '') !== '' && !isLocalVolume(volume)
  );
}

async function ignoreMissing(deletion: Promise<void>): Promise<void> {
  try {
    await deletion;
  } catch (error) {
    if (!isApiError(error, 404)) {
      throw error;
    }
  }
}
