import { devicesOf, readSize } from '../device/loop-device.ts';
import { growMountedFileSystem, mayGrowMounted } from '../device/ext4.ts';
import { CsiError } from '../grpc/csi-error.ts';
import type { NodePathRequest } from '../grpc/messages.ts';
import { requireOwn, requirePath } from './node.ts';
import type { CsiNode } from './node.ts';

/**
 * Grows the mounted file system to the size that the controller gave the blocks. If the kernel does not
 * permit that, the controller grows only detached volumes, and staging has grown the file system before
 * mounting it.
 */
export function expandVolume(node: CsiNode): (request: NodePathRequest) => Promise<object> {
  const { driver, store, lock } = node;
  return async ({ volumeId, volumePath }) => {
    if (!driver.canExpand) throw new CsiError('UNIMPLEMENTED', `${driver.name} cannot expand volumes`);
    requirePath(volumePath, 'the volume path');
    return await lock(volumeId, async () => {
      const { capacityBytes } = await requireOwn(node, volumeId);
      const [device] = await devicesOf(store.image(volumeId));
      if (device === undefined) throw new CsiError('NOT_FOUND', `volume ${volumeId} is not mounted here`);
      await readSize(device);
      if (await mayGrowMounted()) await growMountedFileSystem(device.path);
      return { capacityBytes };
    });
  };
}
