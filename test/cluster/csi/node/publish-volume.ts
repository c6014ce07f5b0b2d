import { dirname } from 'node:path';
import { mkdir } from 'node:fs/promises';
import { devicesOf } from '../device/loop-device.ts';
import { bind, mountAt, removeMountPoint, unmountAll } from '../device/mounts.ts';
import { CsiError } from '../grpc/csi-error.ts';
import type { NodePublishRequest, NodeUnpublishRequest } from '../grpc/messages.ts';
import { requireCapabilities } from '../volume/volume-capability.ts';
import { requireOwn, requirePath, requireText } from './node.ts';
import type { CsiNode } from './node.ts';

/** Bind-mounts the staged volume at the path for a pod. */
export function publishVolume(node: CsiNode): (request: NodePublishRequest) => Promise<object> {
  const { store, lock } = node;
  return async (request) => {
    const { volumeId } = request;
    const staging = requirePath(request.stagingTargetPath, 'the staging path');
    const target = requirePath(request.targetPath, 'the target path');
    requireCapabilities([request.volumeCapability]);
    return await lock(volumeId, async () => {
      await requireOwn(node, volumeId);
      const devices = await devicesOf(store.image(volumeId));
      const isOurs = (mount: { readonly device: string } | undefined): boolean =>
        mount !== undefined && devices.some(({ number }) => number === mount.device);
      if (!isOurs(await mountAt(staging))) {
        throw new CsiError('FAILED_PRECONDITION', `volume ${volumeId} is not staged at ${staging}`);
      }
      const isReadOnly = request.readonly ?? false;
      const present = await mountAt(target);
      // A bind mount that was interrupted before it became read-only is created again.
      if (isOurs(present) && present?.options.includes('ro') === isReadOnly) return {};
      await unmountAll(target);
      await mkdir(dirname(target), { recursive: true });
      await bind(staging, target, isReadOnly);
      return {};
    });
  };
}

/** Unmounts the path, not lazily, and removes the empty directory. */
export function unpublishVolume({ lock }: CsiNode): (request: NodeUnpublishRequest) => Promise<object> {
  return async (request) => {
    const volumeId = requireText(request.volumeId, 'the volume id');
    const target = requirePath(request.targetPath, 'the target path');
    return await lock(volumeId, async () => {
      await unmountAll(target);
      await removeMountPoint(target);
      return {};
    });
  };
}
