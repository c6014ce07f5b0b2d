import type { Handlers } from '../grpc/serve.ts';
import type { ValidateRequest } from '../grpc/messages.ts';
import { refusalOf } from '../volume/volume-capability.ts';
import { requireVolume } from './controller.ts';
import type { Controller } from './controller.ts';
import { createVolume } from './create-volume.ts';
import { deleteVolume } from './delete-volume.ts';
import { expandVolume } from './expand-volume.ts';
import { modifyVolume } from './modify-volume.ts';
import { publishVolume } from './publish-volume.ts';
import { createSnapshot, deleteSnapshot, listSnapshots } from './snapshots.ts';
import { unpublishVolume } from './unpublish-volume.ts';

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
