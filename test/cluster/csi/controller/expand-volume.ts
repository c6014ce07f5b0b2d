import { truncate } from 'node:fs/promises';
import { mayGrowMounted } from '../device/ext4.ts';
import { CsiError } from '../grpc/csi-error.ts';
import type { ExpandRequest } from '../grpc/messages.ts';
import { capacityOf } from '../volume/capacity.ts';
import { fileState } from '../volume/volume-store.ts';
import { require, requireVolume } from './controller.ts';
import type { Controller } from './controller.ts';

/**
 * Grows the blocks; the node then grows the file system. Never shrinks. Without the capability to grow a
 * mounted file system, rejects for a volume in use: external-resizer then waits until it is detached.
 */
export function expandVolume(controller: Controller): (request: ExpandRequest) => Promise<object> {
  const { driver, store, lock } = controller;
  return async ({ volumeId, capacityRange }) => {
    require(driver.canExpand, 'expand volumes', driver);
    return await lock(volumeId, async () => {
      const volume = await requireVolume(controller, volumeId);
      const capacityBytes = capacityOf(capacityRange, volume.capacityBytes);
      if (
        volume.publication !== undefined &&
        capacityBytes > volume.capacityBytes &&
        !(await mayGrowMounted())
      ) {
        throw new CsiError(
          'FAILED_PRECONDITION',
          `volume ${volumeId} is in use and grows only while it is not`,
        );
      }
      const image = store.image(volumeId);
      const isGrown = Number((await fileState(image)).size) >= capacityBytes;
      if (!isGrown) await truncate(image, capacityBytes);
      const atRest = volume.atRest === undefined ? undefined : await fileState(image);
      await store.saveVolume({ ...volume, capacityBytes, ...(atRest !== undefined && { atRest }) });
      return { capacityBytes, nodeExpansionRequired: true };
    });
  };
}
