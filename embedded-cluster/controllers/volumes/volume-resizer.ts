import type { EventRecorder } from '../../../src/kubernetes/controllers/event-recorder.ts';
import { Controller } from '../../../src/kubernetes/controllers/controller.ts';
import { involved } from '../../../src/kubernetes/controllers/event-recorder.ts';
import { persistentVolumeClaims, persistentVolumes } from '../../../src/kubernetes/resources.ts';
import type { ControllerContext } from '../controller-context.ts';
import { patchSameVersion } from '../../../src/kubernetes/controllers/conditional-writes.ts';
import { localProvisioner } from '../../api-server/bootstrap.ts';
import { requestOf, sizeOf } from './data-source.ts';
import { isLocalVolume } from './local-volume.ts';

type Context = ControllerContext<'claims' | 'volumes'>;

/**
 * Expands volumes of class `local` to the size that their claims request (kubernetes-csi/external-resizer).
 * The volume object is updated first, then the claim's status. A directory has no file system of its own, so
 * the node has nothing to do.
 */
export class VolumeResizer extends Controller {
  readonly #informers: Context['informers'];
  readonly #api: Context['api'];
  readonly #recorder: EventRecorder;

  constructor(context: Context) {
    super('volume-resizer', context);
    this.#informers = context.informers;
    this.#api = context.api;
    const { informers } = context;
    this.#recorder = context.recorder(`external-resizer ${localProvisioner}`);

    this.watch(informers.claims);

    informers.volumes.onChange(({ after }) => {
      const reference = after?.spec.claimRef;
      if (reference !== undefined) {
        this.queue.add(`${reference.namespace}/${reference.name}`);
      }
    });
  }

  protected override async reconcile(key: string): Promise<void> {
    const claim = this.#informers.claims.get(key);
    const volume = this.#informers.volumes.get(claim?.spec.volumeName ?? '');
    if (claim?.status?.phase !== 'Bound' || volume === undefined || !isLocalVolume(volume)) {
      return;
    }
    const requested = claim.spec.resources?.requests?.['storage'] ?? '0';
    const capacity = volume.spec.capacity?.['storage'];
    if (requestOf(claim) > sizeOf(capacity)) {
      await patchSameVersion(this.#api, persistentVolumes, volume, {
        spec: { capacity: { storage: requested } },
      });
      // The change of the volume adds this claim to the queue again.
      return;
    }
    if (sizeOf(claim.status.capacity?.['storage']) < sizeOf(capacity)) {
      const status = { capacity: volume.spec.capacity };
      await patchSameVersion(this.#api, persistentVolumeClaims, claim, { status }, 'status');
      this.#recorder.record(involved('PersistentVolumeClaim', claim), {
        type: 'Normal',
        reason: 'VolumeResizeSuccessful',
        message: 'Resize volume succeeded',
      });
    }
  }
}
