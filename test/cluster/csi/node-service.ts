import { zoneKeyOf, type Driver } from './drivers.ts';
import { type Handlers, CsiError } from './grpc.ts';
import {
  devicesOf,
  readSize,
  growMountedFileSystem,
  mayGrowMounted,
  bind,
  mountAt,
  removeMountPoint,
  unmountAll,
  attach,
  type LoopDevice,
  checkFileSystem,
  fileSystemOf,
  growFileSystem,
  makeFileSystem,
  holdersOf,
  mountDevice,
  detach,
  deviceOfNumber,
} from './devices.ts';
import type {
  NodePathRequest,
  NodePublishRequest,
  NodeUnpublishRequest,
  StageRequest,
  UnstageRequest,
} from './messages.ts';
import { dirname, isAbsolute, normalize } from 'node:path';
import { mkdir, statfs } from 'node:fs/promises';
import { requireCapabilities } from './volume-capability.ts';
import { replaceFile } from '../../../src/platform/durable-file.ts';
import { exists, isId, type KeyedLock, type VolumeRecord, type VolumeStore } from './volume-store.ts';

/** csi.v1.Node: each method by its name. */
export function nodeService(node: CsiNode): Handlers {
  const { driver, nodeId, zone } = node;
  const capabilities = [
    'STAGE_UNSTAGE_VOLUME',
    'GET_VOLUME_STATS',
    'SINGLE_NODE_MULTI_WRITER',
    ...(driver.canExpand ? ['EXPAND_VOLUME'] : []),
  ].map((type) => ({ rpc: { type } }));
  const topology =
    driver.isZonal && zone !== undefined
      ? { accessibleTopology: { segments: { [zoneKeyOf(driver)]: zone } } }
      : {};
  return {
    NodeStageVolume: stageVolume(node),
    NodeUnstageVolume: unstageVolume(node),
    NodePublishVolume: publishVolume(node),
    NodeUnpublishVolume: unpublishVolume(node),
    NodeExpandVolume: expandVolume(node),
    NodeGetVolumeStats: volumeStats,
    NodeGetCapabilities: () => Promise.resolve({ capabilities }),
    NodeGetInfo: () => Promise.resolve({ nodeId, ...topology }),
  };
}

/**
 * Grows the mounted file system to the size that the controller gave the blocks. If the kernel does not
 * permit that, the controller grows only detached volumes, and staging has grown the file system before
 * mounting it.
 */
function expandVolume(node: CsiNode): (request: NodePathRequest) => Promise<object> {
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

/** Bind-mounts the staged volume at the path for a pod. */
function publishVolume(node: CsiNode): (request: NodePublishRequest) => Promise<object> {
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
function unpublishVolume({ lock }: CsiNode): (request: NodeUnpublishRequest) => Promise<object> {
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

/**
 * Mounts the volume's file system at the staging path. Creates it if the volume is new, and grows it if it is
 * smaller than the blocks.
 */
function stageVolume(node: CsiNode): (request: StageRequest) => Promise<object> {
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
      replaceFile(mark, '');
      await checkFileSystem(device.path);
      await readSize(device);
      await growFileSystem(device.path);
      return;
    }
    if (type !== undefined || (await exists(mark))) {
      throw new CsiError('DATA_LOSS', `volume ${volumeId} had ext4 and now has ${type ?? 'nothing'} on it`);
    }
    await makeFileSystem(device.path);
    replaceFile(mark, '');
  }

  return stage;
}

/**
 * Unmounts the staging path, not lazily, and detaches the device. A process with another mount keeps the
 * device alive. As with any storage driver, it is not consulted. The detach handles this case
 * (volume-files.ts).
 */
function unstageVolume({ store, lock, nodeId }: CsiNode): (request: UnstageRequest) => Promise<object> {
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

/** Returns how full the volume is, for the kubelet's metrics. */
async function volumeStats({ volumeId, volumePath }: NodePathRequest): Promise<object> {
  requireText(volumeId, 'the volume id');
  const path = requirePath(volumePath, 'the volume path');
  if ((await mountAt(path)) === undefined) throw new CsiError('NOT_FOUND', `nothing is mounted at ${path}`);
  const { bsize, blocks, bavail, bfree, files, ffree } = await statfs(path);
  return {
    usage: [
      { unit: 'BYTES', total: blocks * bsize, available: bavail * bsize, used: (blocks - bfree) * bsize },
      { unit: 'INODES', total: files, available: ffree, used: files - ffree },
    ],
  };
}

/** The dependencies of the methods of the node service. They run in the mount namespace of the node. */
interface CsiNode {
  readonly driver: Driver;
  readonly store: VolumeStore;
  readonly lock: KeyedLock;
  readonly nodeId: string;
  /** If absent, the node reports no zone. */
  readonly zone: string | undefined;
}

/**
 * Returns a volume that is published to this node. Throws NOT_FOUND if it does not exist, and
 * FAILED_PRECONDITION if it is not published to this node.
 */
async function requireOwn({ store, nodeId }: CsiNode, volumeId: string): Promise<VolumeRecord> {
  requireText(volumeId, 'the volume id');
  const volume = isId(volumeId) ? await store.volume(volumeId) : undefined;
  if (volume === undefined) throw new CsiError('NOT_FOUND', `there is no volume ${JSON.stringify(volumeId)}`);
  if (volume.publication?.nodeId !== nodeId) {
    const owner = volume.publication === undefined ? 'no node' : `node ${volume.publication.nodeId}`;
    throw new CsiError(
      'FAILED_PRECONDITION',
      `volume ${volumeId} is published to ${owner}, not to ${nodeId}`,
    );
  }
  return volume;
}

function requireText(value: string | undefined, what: string): string {
  if (value === undefined || value === '') throw new CsiError('INVALID_ARGUMENT', `${what} is missing`);
  return value;
}

/** Returns an absolute path without dots and without a trailing slash, or throws. */
function requirePath(value: string | undefined, what: string): string {
  const path = requireText(value, what);
  if (!isAbsolute(path) || normalize(path) !== path || path.endsWith('/')) {
    throw new CsiError('INVALID_ARGUMENT', `${what} ${JSON.stringify(path)} is no plain absolute path`);
  }
  return path;
}
