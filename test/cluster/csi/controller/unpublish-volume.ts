import type { UnpublishRequest } from '../grpc/messages.ts';
import { takeAway } from '../volume/take-away.ts';
import { fileState } from '../volume/volume-store.ts';
import { findVolume } from './controller.ts';
import type { Controller } from './controller.ts';

/**
 * Unpublishes the volume from its node, even if processes there still use it. Does nothing for another node.
 */
export function unpublishVolume({
  store,
  lock,
  clock,
}: Controller): (request: UnpublishRequest) => Promise<object> {
  return async ({ volumeId, nodeId }) =>
    await lock(volumeId, async () => {
      const volume = await findVolume(store, volumeId);
      const from = volume?.publication?.nodeId;
      if (volume === undefined || from === undefined || (nodeId !== '' && nodeId !== from)) return {};
      await takeAway(store, volumeId, from, clock.now());
      const { publication: _, ...rest } = volume;
      await store.saveVolume({ ...rest, atRest: await fileState(store.image(volumeId)) });
      return {};
    });
}
