import { involved } from '../../../src/kubernetes/controllers/event-recorder.ts';
import { persistentVolumeClaims, persistentVolumes } from '../../../src/kubernetes/resources.ts';
import type { ControllerContext } from '../controller.ts';
import { patchIfUnchanged } from '../../../src/kubernetes/controllers/patch-if-unchanged.ts';
import { WorkQueue } from '../../../src/kubernetes/controllers/work-queue.ts';
import { localProvisioner } from '../../api-server/bootstrap.ts';
import { requestOf, sizeOf } from './data-source.ts';
import { isLocalVolume } from './local-volume.ts';

/**
 * Expands volumes of class `local` to the size that their claims request (kubernetes-csi/external-resizer).
 * The volume object is updated first, then the claim's status. A directory has no file system of its own, so
 * the node has nothing to do.
 */
export function createVolumeResizer(context: ControllerContext): WorkQueue {
  const { api, informers } = context;
  const recorder = context.recorder(`external-resizer ${localProvisioner}`);
  const queue = new WorkQueue('volume-resizer', reconcile, context);

  informers.claims.onChange(({ key }) => {
    queue.add(key);
  });
  informers.volumes.onChange(({ after }) => {
    const reference = after?.spec.claimRef;
    if (reference !== undefined) {
      queue.add(`${reference.namespace}/${reference.name}`);
    }
  });

  async function reconcile(key: string): Promise<void> {
    const claim = informers.claims.get(key);
    const volume = informers.volumes.get(claim?.spec.volumeName ?? '');
    if (claim?.status?.phase !== 'Bound' || volume === undefined || !isLocalVolume(volume)) {
      return;
    }
    const wanted = claim.spec.resources?.requests?.['storage'] ?? '0';
    const capacity = volume.spec.capacity?.['storage'];
    if (requestOf(claim) > sizeOf(capacity)) {
      await patchIfUnchanged(api, persistentVolumes, volume, { spec: { capacity: { storage: wanted } } });
      // The change of the volume adds this claim to the queue again.
      return;
    }
    if (sizeOf(claim.status.capacity?.['storage']) < sizeOf(capacity)) {
      const status = { capacity: volume.spec.capacity };
      await patchIfUnchanged(api, persistentVolumeClaims, claim, { status }, 'status');
      recorder.record(involved('PersistentVolumeClaim', claim), {
        type: 'Normal',
        reason: 'VolumeResizeSuccessful',
        message: 'Resize volume succeeded',
      });
    }
  }

  return queue;
}
