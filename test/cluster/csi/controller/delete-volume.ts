import { devicesOf } from '../device/loop-device.ts';
import { CsiError } from '../grpc/csi-error.ts';
import type { VolumeRequest } from '../grpc/messages.ts';
import { isId } from '../volume/volume-store.ts';
import { findVolume } from './controller.ts';
import type { Controller } from './controller.ts';

/**
 * Deletes the volume, which must not be published to a node. Succeeds if it does not exist. Its violations
 * stay recorded.
 */
export function deleteVolume({ store, lock }: Controller): (request: VolumeRequest) => Promise<object> {
  return async ({ volumeId }) =>
    await lock(volumeId, async () => {
      const volume = await findVolume(store, volumeId);
      if (volume?.publication !== undefined) {
        const { nodeId } = volume.publication;
        throw new CsiError('FAILED_PRECONDITION', `volume ${volumeId} is published to node ${nodeId}`);
      }
      if (volume !== undefined && (await devicesOf(store.image(volumeId))).length > 0) {
        throw new CsiError('FAILED_PRECONDITION', `volume ${volumeId} still has a device`);
      }
      // This also removes what an interrupted deletion has left.
      if (isId(volumeId)) await store.removeVolume(volumeId);
      return {};
    });
}
