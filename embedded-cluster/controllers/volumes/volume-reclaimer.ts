import type { Stored } from '../../../src/kubernetes/object.ts';
import {
  deleteSame,
  isBlockedBy,
  patchSameVersion,
  removeFinalizer,
} from '../../../src/kubernetes/controllers/conditional-writes.ts';
import { type EventRecorder, involved } from '../../../src/kubernetes/controllers/event-recorder.ts';
import { Controller } from '../../../src/kubernetes/controllers/controller.ts';
import { timestamp } from '../../../src/kubernetes/timestamp.ts';
import { ignoreNotFound } from '../../../src/kubernetes/api.ts';
import { persistentVolumeClaims, persistentVolumes } from '../../../src/kubernetes/resources.ts';
import {
  type ClaimReference,
  type PersistentVolume,
  type PersistentVolumeClaim,
  volumeAnnotations,
} from '../../../src/kubernetes/types/storage.ts';
import type { ControllerContext } from '../controller-context.ts';
import { isLocalVolume, provisionerFinalizer } from './local-volume.ts';

type Phase = NonNullable<PersistentVolume['status']>['phase'];

type Context = ControllerContext<'claims' | 'volumes'>;

/**
 * Updates a volume's phase and, when its claim is deleted, applies its reclaim policy. Delete removes the
 * directory first and then the object; a volume that is still in use stays Released, with an event, and is
 * retried. Retain changes nothing.
 */
export class VolumeReclaimer extends Controller {
  readonly #informers: Context['informers'];
  readonly #api: Context['api'];
  readonly #provisioner: Context['provisioner'];
  readonly #clock: Context['clock'];
  readonly #recorder: EventRecorder;

  constructor(context: Context) {
    super('volume-reclaimer', context);
    this.#informers = context.informers;
    this.#api = context.api;
    this.#provisioner = context.provisioner;
    this.#clock = context.clock;
    const { informers } = context;
    this.#recorder = context.recorder('persistentvolume-controller');

    this.watch(informers.volumes);

    informers.claims.onChange(({ before, after }) => {
      const name = (after ?? before)?.spec.volumeName;
      if (name !== undefined && name !== '') {
        this.queue.add(name);
      }
      // A claim that was deleted before it was bound may still have a volume.
      if (before !== undefined && after === undefined) this.queue.add(`pvc-${before.metadata.uid}`);
    });
  }

  protected override async reconcile(name: string): Promise<void> {
    const volume = this.#informers.volumes.get(name);
    if (volume === undefined) {
      return;
    }
    const reference = volume.spec.claimRef;
    if (reference?.uid === undefined || reference.uid === '') {
      if (!(await this.#changePhase(volume, 'Available'))) {
        await this.#release(volume);
      }
      return;
    }
    const claim = await this.#findClaim(reference);
    if (claim !== undefined) {
      await this.#changePhase(volume, 'Bound');
      return;
    }
    if (!(await this.#changePhase(volume, 'Released'))) {
      await this.#reclaim(volume);
    }
  }

  async #reclaim(volume: Stored<PersistentVolume>): Promise<void> {
    if (volume.spec.persistentVolumeReclaimPolicy !== 'Delete') {
      await this.#release(volume);
      return;
    }
    if (isExternallyProvisioned(volume)) {
      return;
    }
    if (!isLocalVolume(volume)) {
      await this.#fail(
        volume,
        'no provisioner of this cluster made the volume, so nothing here can delete it',
      );
      return;
    }
    await this.#removeDirectory(volume);
    if (volume.metadata.deletionTimestamp === undefined) {
      await deleteSame(this.#api, persistentVolumes, volume);
      // The volume is queued again by the change of the object, which now waits for its finalizer.
      return;
    }
    await this.#release(volume);
  }

  /**
   * Removes the finalizer of a deleted PersistentVolume. The directory is kept unless `removeDirectory` ran
   * before.
   */
  async #release(volume: PersistentVolume): Promise<void> {
    if (!isExternallyProvisioned(volume) && isBlockedBy(volume, provisionerFinalizer)) {
      await removeFinalizer(this.#api, persistentVolumes, volume, provisionerFinalizer);
    }
  }

  async #removeDirectory(volume: PersistentVolume): Promise<void> {
    try {
      await this.#provisioner.remove(volume.metadata.name);
    } catch (error) {
      this.#report(volume, error instanceof Error ? error.message : String(error));
      throw error;
    }
  }

  async #fail(volume: PersistentVolume, message: string): Promise<void> {
    if (volume.status?.phase !== 'Failed') {
      await patchSameVersion(
        this.#api,
        persistentVolumes,
        volume,
        { status: { phase: 'Failed', message } },
        'status',
      );
      this.#report(volume, message);
    }
  }

  /**
   * Changes the phase. Returns true if it was another one; the change then adds the volume to the queue
   * again.
   */
  async #changePhase(volume: PersistentVolume, phase: Phase): Promise<boolean> {
    const now = volume.status?.phase;
    // A Released volume that nothing here can delete stays Failed.
    if (now === phase || (now === 'Failed' && phase === 'Released')) {
      return false;
    }
    const status = { phase, lastPhaseTransitionTime: timestamp(this.#clock.now()) };
    await patchSameVersion(this.#api, persistentVolumes, volume, { status }, 'status');
    return true;
  }

  /** Reads from the API server, not the cache: a stale cache must not cause data loss. */
  async #findClaim(reference: ClaimReference): Promise<PersistentVolumeClaim | undefined> {
    const { namespace, name, uid } = reference;
    const claim = await ignoreNotFound(
      this.#api.get<PersistentVolumeClaim>({ resource: persistentVolumeClaims, namespace, name }),
    );
    return claim?.metadata.uid === uid ? claim : undefined;
  }

  #report(volume: PersistentVolume, message: string): void {
    this.#recorder.record(involved('PersistentVolume', volume), {
      type: 'Warning',
      reason: 'VolumeFailedDelete',
      message,
    });
  }
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
