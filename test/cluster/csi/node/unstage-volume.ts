import { dirname } from 'node:path';
import { detach, deviceOfNumber, devicesOf } from '../device/loop-device.ts';
import { mountAt, unmountAll } from '../device/mounts.ts';
import type { UnstageRequest } from '../grpc/messages.ts';
import { isId } from '../volume/volume-store.ts';
import { requirePath, requireText } from './node.ts';
import type { CsiNode } from './node.ts';

/**
 * Unmounts the staging path, plainly, and lets go of the device. Whoever holds another mount of it keeps the device alive,
 * and is not asked: no storage driver is. That is the detach's matter (take-away.ts).
 */
export function unstageVolume({
  store,
  lock,
  nodeId,
}: CsiNode): (request: UnstageRequest) => Promise<object> {
  return async (request) => {
    const volumeId = requireText(request.volumeId, 'the volume id');
    const path = requirePath(request.stagingTargetPath, 'the staging path');
    return await lock(volumeId, async () => {
      const mount = await mountAt(path);
      const directory = dirname(store.image('any'));
      const mounted = mount === undefined ? undefined : await deviceOfNumber(mount.device, directory);
      await unmountAll(path);
      if (mounted !== undefined) await detach(mounted);
      const volume = isId(volumeId) ? await store.volume(volumeId) : undefined;
      // a volume that another node has by now has that one's device
      if (volume?.publication?.nodeId === nodeId) {
        for (const device of await devicesOf(store.image(volumeId))) await detach(device);
      }
      return {};
    });
  };
}
