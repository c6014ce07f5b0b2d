import * as resources from '../../../../src/kubernetes/resources.ts';
import type { Informer } from '../../../../embedded-cluster/controllers/runtime/informer.ts';
import {
  hasFinalizer,
  removeFinalizer,
} from '../../../../embedded-cluster/controllers/runtime/finalizers.ts';
import { WorkQueue } from '../../../../embedded-cluster/controllers/runtime/work-queue.ts';
import { isApiError } from '../../../../src/kubernetes/client/api-error.ts';
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  volumeAnnotations,
} from '../../../../src/kubernetes/types/storage.ts';
import type { ProvisionerContext } from './claim-provisioner.ts';
import { provisionerFinalizer } from './volume-object.ts';

export interface DeleterContext extends Pick<
  ProvisionerContext,
  'api' | 'driver' | 'controller' | 'recorder' | 'clock' | 'random' | 'onError'
> {
  readonly volumes: Informer<PersistentVolume>;
}

/**
 * Deletes the volumes of deleted claims if the reclaim policy is Delete: first at the driver, then the
 * object. The driver rejects a volume that is still attached; this is reported as an event, and the deletion
 * is tried again.
 */
export function createVolumeDeleter(context: DeleterContext): WorkQueue {
  const { api, driver, controller, volumes, recorder } = context;
  const queue = new WorkQueue(`deleter of ${driver.name}`, reconcile, context);

  volumes.onChange(({ key }) => {
    queue.add(key);
  });

  async function reconcile(name: string): Promise<void> {
    const volume = volumes.get(name);
    if (volume === undefined || !isToDelete(volume, driver.name) || (await hasClaim(volume))) return;
    try {
      await controller.call('DeleteVolume', { volumeId: volume.spec.csi?.volumeHandle ?? '' });
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const subject = { kind: 'PersistentVolume', apiVersion: 'v1', object: volume };
      recorder.record(subject, { type: 'Warning', reason: 'VolumeFailedDelete', message });
      throw error;
    }
    await removeObject(name, volume);
  }

  async function removeObject(name: string, volume: PersistentVolume): Promise<void> {
    const { uid = '', deletionTimestamp } = volume.metadata;
    if (deletionTimestamp === undefined) {
      try {
        await api.delete({ resource: resources.persistentVolumes, name }, { preconditions: { uid } });
      } catch (error) {
        if (!isApiError(error, 404)) throw error;
      }
      // The key is added again by the change of the object, which now waits for its finalizer.
      return;
    }
    await removeFinalizer(api, resources.persistentVolumes, volume, provisionerFinalizer);
  }

  /** Reads from the API server, not from a cache, because a stale cache must not cause data loss. */
  async function hasClaim({ spec }: PersistentVolume): Promise<boolean> {
    if (spec.claimRef === undefined) return false;
    const { namespace, name, uid } = spec.claimRef;
    try {
      const reference = { resource: resources.persistentVolumeClaims, namespace, name };
      return (await api.get<PersistentVolumeClaim>(reference)).metadata.uid === uid;
    } catch (error) {
      if (isApiError(error, 404)) return false;
      throw error;
    }
  }

  return queue;
}

/**
 * Returns true if the driver must delete the volume: it is Released, or it was deleted while no claim uses
 * it, and the reclaim policy is Delete.
 */
function isToDelete({ metadata, spec, status }: PersistentVolume, driverName: string): boolean {
  if (
    metadata.annotations?.[volumeAnnotations.provisionedBy] !== driverName ||
    spec.persistentVolumeReclaimPolicy !== 'Delete'
  ) {
    return false;
  }
  return metadata.deletionTimestamp === undefined
    ? status?.phase === 'Released'
    : status?.phase !== 'Bound' && hasFinalizer({ metadata }, provisionerFinalizer);
}
