import { dirname } from 'node:path';
import { detach, deviceOfNumber, devicesOf } from '../device/loop-device.ts';
import { mountAt, unmountAll } from '../device/mounts.ts';
import type { UnstageRequest } from '../grpc/messages.ts';
import { isId } from '../volume/volume-store.ts';
import { requirePath, requireText } from './node.ts';
import type { CsiNode } from './node.ts';

/**
 * Unmounts the staging path, not lazily, and detaches the device. A process with another mount keeps the
 * device alive. As with any storage driver, it is not consulted. The detach handles this case (take-away.ts).
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
      // If another node already has the volume, the device belongs to that node.
      if (volume?.publication?.nodeId === nodeId) {
        for (const device of await devicesOf(store.image(volumeId))) await detach(device);
      }
      return {};
    });
  };
}
