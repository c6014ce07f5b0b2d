import { isAbsolute, normalize } from 'node:path';
import { CsiError } from '../grpc/csi-error.ts';
import type { Driver } from '../drivers.ts';
import type { KeyedLock } from '../volume/keyed-lock.ts';
import type { VolumeRecord } from '../volume/volume-record.ts';
import { isId } from '../volume/volume-store.ts';
import type { VolumeStore } from '../volume/volume-store.ts';

/** What the methods of the node service are built from; they run in the mount namespace of that node. */
export interface CsiNode {
  readonly driver: Driver;
  readonly store: VolumeStore;
  readonly lock: KeyedLock;
  readonly nodeId: string;
  /** Absent: the node says none. */
  readonly zone: string | undefined;
}

/** A volume that this node has: NOT_FOUND, or FAILED_PRECONDITION where it was not published to it. */
export async function requireOwn({ store, nodeId }: CsiNode, volumeId: string): Promise<VolumeRecord> {
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

export function requireText(value: string | undefined, what: string): string {
  if (value === undefined || value === '') throw new CsiError('INVALID_ARGUMENT', `${what} is missing`);
  return value;
}

/** An absolute path without dots or a slash at its end. */
export function requirePath(value: string | undefined, what: string): string {
  const path = requireText(value, what);
  if (!isAbsolute(path) || normalize(path) !== path || path.endsWith('/')) {
    throw new CsiError('INVALID_ARGUMENT', `${what} ${JSON.stringify(path)} is no plain absolute path`);
  }
  return path;
}
