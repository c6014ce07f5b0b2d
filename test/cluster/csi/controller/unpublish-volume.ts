import type { UnpublishRequest } from '../grpc/messages.ts';
import { takeAway } from '../volume/take-away.ts';
import { fileState } from '../volume/volume-store.ts';
import { findVolume } from './controller.ts';
import type { Controller } from './controller.ts';

/** Takes the volume from its node, whoever still uses it there; from another node there is nothing to take. */
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
