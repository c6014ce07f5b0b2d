import { rename } from 'node:fs/promises';
import { CsiError } from './grpc.ts';
import type { CreateSnapshotRequest, CsiSnapshot, ListSnapshotsRequest } from './messages.ts';
import { copyBlocks } from './volume-files.ts';
import { type SnapshotRecord, exists, idOf, isId } from './volume-store.ts';
import { require, requireVolume, type Controller } from './controller.ts';

/**
 * Copies a volume's blocks as they are at one moment, even if it is in use. The same name returns the same
 * snapshot.
 */
export function createSnapshot(
  controller: Controller,
): (request: CreateSnapshotRequest) => Promise<{ snapshot: CsiSnapshot }> {
  const { driver, store, lock, clock } = controller;

  async function take(id: string, volumeId: string): Promise<SnapshotRecord> {
    const volume = await requireVolume(controller, volumeId);
    const isFormatted = await exists(store.formattedMark(volumeId));
    const next = `${store.snapshotImage(id)}.next`;
    await copyBlocks(store.image(volumeId), next);
    await rename(next, store.snapshotImage(id));
    const record = { id, volumeId, sizeBytes: volume.capacityBytes, isFormatted, createdMs: clock.now() };
    await store.saveSnapshot(record);
    return record;
  }

  return async ({ name, sourceVolumeId }) => {
    require(driver.canSnapshot, 'take snapshots', driver);
    if (name === '') throw new CsiError('INVALID_ARGUMENT', 'the name is missing');
    const id = idOf(name);
    return await lock(sourceVolumeId, async () => {
      const present = await store.snapshot(id);
      if (present !== undefined && present.volumeId !== sourceVolumeId) {
        throw new CsiError('ALREADY_EXISTS', `snapshot ${id} is of volume ${present.volumeId}`);
      }
      return { snapshot: toCsiSnapshot(present ?? (await take(id, sourceVolumeId))) };
    });
  };
}

/** Deletes a snapshot. Succeeds if it does not exist. */
export function deleteSnapshot({
  driver,
  store,
}: Controller): (request: { snapshotId: string }) => Promise<object> {
  return async ({ snapshotId }) => {
    require(driver.canSnapshot, 'delete snapshots', driver);
    if (snapshotId === '') throw new CsiError('INVALID_ARGUMENT', 'the snapshot id is missing');
    if (isId(snapshotId)) await store.removeSnapshot(snapshotId);
    return {};
  };
}

/** Lists all snapshots, those of a volume, or one. Pages are positions in the order of their ids. */
export function listSnapshots({
  driver,
  store,
}: Controller): (request: ListSnapshotsRequest) => Promise<object> {
  return async ({ maxEntries = 0, startingToken = '', sourceVolumeId = '', snapshotId = '' }) => {
    require(driver.canSnapshot, 'list snapshots', driver);
    if (!/^\d{0,9}$/.test(startingToken))
      throw new CsiError('ABORTED', 'the starting token was not issued by this driver');
    const found = (await store.snapshots()).filter(
      ({ id, volumeId }) =>
        (snapshotId === '' || id === snapshotId) && (sourceVolumeId === '' || volumeId === sourceVolumeId),
    );
    const start = Number(startingToken);
    const end = maxEntries > 0 ? start + maxEntries : found.length;
    return {
      entries: found.slice(start, end).map((record) => ({ snapshot: toCsiSnapshot(record) })),
      nextToken: end < found.length ? String(end) : '',
    };
  };
}

function toCsiSnapshot({ id, volumeId, sizeBytes, createdMs }: SnapshotRecord): CsiSnapshot {
  return {
    snapshotId: id,
    sourceVolumeId: volumeId,
    sizeBytes,
    creationTime: { seconds: Math.floor(createdMs / 1000), nanos: (createdMs % 1000) * 1_000_000 },
    readyToUse: true,
  };
}
