import { attach, devicesOf, readSize } from '../device/loop-device.ts';
import type { LoopDevice } from '../device/loop-device.ts';
import { checkFileSystem, fileSystemOf, growFileSystem, makeFileSystem } from '../device/ext4.ts';
import { holdersOf, mountAt, mountDevice, unmountAll } from '../device/mounts.ts';
import { CsiError } from '../grpc/csi-error.ts';
import type { StageRequest } from '../grpc/messages.ts';
import { replaceFile } from '../volume/replace-file.ts';
import { requireCapabilities } from '../volume/volume-capability.ts';
import { exists } from '../volume/volume-store.ts';
import { requireOwn, requirePath } from './node.ts';
import type { CsiNode } from './node.ts';

/**
 * Mounts the volume's file system at the staging path. Creates it if the volume is new, and grows it if it is
 * smaller than the blocks.
 */
export function stageVolume(node: CsiNode): (request: StageRequest) => Promise<object> {
  const { store, lock } = node;

  async function stage(request: StageRequest): Promise<object> {
    const { volumeId, volumeCapability } = request;
    const path = requirePath(request.stagingTargetPath, 'the staging path');
    requireCapabilities([volumeCapability]);
    return await lock(volumeId, async () => {
      const { isForgetful = false } = await requireOwn(node, volumeId);
      if (await isStaged(volumeId, path)) return {};
      const device = await attach(store.image(volumeId));
      // After an unstage while a process still used the volume, the device is also mounted elsewhere. The
      // kernel then has the file system mounted already.
      if ((await holdersOf(device.number)).length === 0) {
        if (isForgetful) await makeFileSystem(device.path);
        await prepare(volumeId, device);
      }
      await mountDevice(device.path, path, volumeCapability?.mount?.mountFlags ?? []);
      return {};
    });
  }

  /**
   * Returns true if the volume is mounted there. Unmounts what is left of a disk that was taken from this
   * node while it was mounted.
   */
  async function isStaged(volumeId: string, path: string): Promise<boolean> {
    const mount = await mountAt(path);
    if (mount === undefined) return false;
    const devices = await devicesOf(store.image(volumeId));
    if (devices.some(({ number }) => number === mount.device)) return true;
    await unmountAll(path);
    return false;
  }

  async function prepare(volumeId: string, device: LoopDevice): Promise<void> {
    const mark = store.formattedMark(volumeId);
    const type = await fileSystemOf(device.path);
    if (type === 'ext4') {
      await replaceFile(mark, '');
      await checkFileSystem(device.path);
      await readSize(device);
      await growFileSystem(device.path);
      return;
    }
    if (type !== undefined || (await exists(mark))) {
      throw new CsiError('DATA_LOSS', `volume ${volumeId} had ext4 and now has ${type ?? 'nothing'} on it`);
    }
    await makeFileSystem(device.path);
    await replaceFile(mark, '');
  }

  return stage;
}
