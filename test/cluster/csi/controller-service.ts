import { type Handlers, CsiError } from './grpc.ts';
import type {
  ValidateRequest,
  VolumeRequest,
  ExpandRequest,
  ModifyRequest,
  PublishRequest,
  UnpublishRequest,
} from './messages.ts';
import { refusalOf, capacityOf, modeOf, requireCapabilities } from './volume-capability.ts';
import { requireVolume, type Controller, findVolume, require } from './controller.ts';
import { createVolume, requireMutableParameters } from './create-volume.ts';
import { createSnapshot, deleteSnapshot, listSnapshots } from './snapshots.ts';
import { devicesOf, mayGrowMounted } from './devices.ts';
import { isId, fileState, type VolumeRecord } from './volume-store.ts';
import { truncate } from 'node:fs/promises';
import { takeAway } from './volume-files.ts';

/** csi.v1.Controller: each method by its name. */
export function controllerService(controller: Controller): Handlers {
  return {
    CreateVolume: createVolume(controller),
    DeleteVolume: deleteVolume(controller),
    ControllerPublishVolume: publishVolume(controller),
    ControllerUnpublishVolume: unpublishVolume(controller),
    ValidateVolumeCapabilities: validate(controller),
    ControllerExpandVolume: expandVolume(controller),
    ControllerModifyVolume: modifyVolume(controller),
    CreateSnapshot: createSnapshot(controller),
    DeleteSnapshot: deleteSnapshot(controller),
    ListSnapshots: listSnapshots(controller),
    ControllerGetCapabilities: () => Promise.resolve({ capabilities: capabilitiesOf(controller) }),
  };
}

function capabilitiesOf({ driver }: Controller): object[] {
  return [
    'CREATE_DELETE_VOLUME',
    'PUBLISH_UNPUBLISH_VOLUME',
    'SINGLE_NODE_MULTI_WRITER',
    ...(driver.canSnapshot ? ['CREATE_DELETE_SNAPSHOT', 'LIST_SNAPSHOTS'] : []),
    ...(driver.canClone ? ['CLONE_VOLUME'] : []),
    ...(driver.canExpand ? ['EXPAND_VOLUME'] : []),
    ...(driver.canModify ? ['MODIFY_VOLUME'] : []),
  ].map((type) => ({ rpc: { type } }));
}

function validate(controller: Controller): (request: ValidateRequest) => Promise<object> {
  return async ({ volumeId, volumeCapabilities }) => {
    await requireVolume(controller, volumeId);
    const refusal = volumeCapabilities.map(refusalOf).find((each) => each !== undefined);
    return refusal === undefined ? { confirmed: { volumeCapabilities } } : { message: refusal };
  };
}

/**
 * Deletes the volume, which must not be published to a node. Succeeds if it does not exist. Its violations
 * stay recorded.
 */
function deleteVolume({ store, lock }: Controller): (request: VolumeRequest) => Promise<object> {
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

/**
 * Grows the blocks; the node then grows the file system. Never shrinks. Without the capability to grow a
 * mounted file system, rejects for a volume in use: external-resizer then waits until it is detached.
 */
function expandVolume(controller: Controller): (request: ExpandRequest) => Promise<object> {
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

/** Records the attributes. They do not make a sparse file faster. */
function modifyVolume(controller: Controller): (request: ModifyRequest) => Promise<object> {
  return async ({ volumeId, mutableParameters }) => {
    require(controller.driver.canModify, 'change the attributes of volumes', controller.driver);
    requireMutableParameters(controller.driver, mutableParameters);
    return await controller.lock(volumeId, async () => {
      const volume = await requireVolume(controller, volumeId);
      await controller.store.saveVolume({ ...volume, mutableParameters });
      return {};
    });
  };
}

/** Publishes the volume to one node. Rejects while it is published to another node. */
function publishVolume(controller: Controller): (request: PublishRequest) => Promise<object> {
  const { store, lock, clock } = controller;

  async function publish(request: PublishRequest): Promise<object> {
    const { volumeId, nodeId, volumeCapability } = request;
    if (nodeId === '') throw new CsiError('INVALID_ARGUMENT', 'the node id is missing');
    requireCapabilities([volumeCapability]);
    return await lock(volumeId, async () => {
      const volume = await requireVolume(controller, volumeId);
      if (!(await store.hasNode(nodeId))) throw new CsiError('NOT_FOUND', `there is no node ${nodeId}`);
      requireFree(volume, request);
      if (volume.publication === undefined) {
        await reportWrites(volume, nodeId);
        const { atRest: _, ...rest } = volume;
        const publication = { nodeId, readonly: request.readonly ?? false, mode: modeOf(volumeCapability) };
        await store.saveVolume({ ...rest, publication });
      }
      return { publishContext: {} };
    });
  }

  async function reportWrites({ id, atRest }: VolumeRecord, nodeId: string): Promise<void> {
    const now = await fileState(store.image(id));
    if (atRest === undefined || (atRest.size === now.size && atRest.modifiedNs === now.modifiedNs)) return;
    await store.report(id, {
      at: new Date(clock.now()).toISOString(),
      kind: 'written-at-rest',
      nodeId,
      detail: `changed while it was published to no node: ${JSON.stringify(atRest)} is now ${JSON.stringify(now)}`,
      holders: [],
    });
  }

  return publish;
}

function requireFree({ id, publication }: VolumeRecord, request: PublishRequest): void {
  if (publication === undefined) return;
  if (publication.nodeId !== request.nodeId) {
    throw new CsiError('FAILED_PRECONDITION', `volume ${id} is published to node ${publication.nodeId}`);
  }
  if (
    publication.readonly !== (request.readonly ?? false) ||
    publication.mode !== modeOf(request.volumeCapability)
  ) {
    throw new CsiError('ALREADY_EXISTS', `volume ${id} is published to that node in another way`);
  }
}

/**
 * Unpublishes the volume from its node, even if processes there still use it. Does nothing for another node.
 */
function unpublishVolume({ store, lock, clock }: Controller): (request: UnpublishRequest) => Promise<object> {
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
