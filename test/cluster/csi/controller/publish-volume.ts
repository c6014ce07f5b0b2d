import { CsiError } from '../grpc/csi-error.ts';
import type { PublishRequest } from '../grpc/messages.ts';
import { modeOf, requireCapabilities } from '../volume/volume-capability.ts';
import type { VolumeRecord } from '../volume/volume-record.ts';
import { fileState } from '../volume/volume-store.ts';
import { requireVolume } from './controller.ts';
import type { Controller } from './controller.ts';

/** Publishes the volume to one node. Rejects while it is published to another node. */
export function publishVolume(controller: Controller): (request: PublishRequest) => Promise<object> {
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
