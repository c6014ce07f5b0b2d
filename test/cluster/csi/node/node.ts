import { isAbsolute, normalize } from 'node:path';
import { CsiError } from '../grpc/csi-error.ts';
import type { Driver } from '../drivers.ts';
import type { KeyedLock } from '../volume/keyed-lock.ts';
import type { VolumeRecord } from '../volume/volume-record.ts';
import { isId } from '../volume/volume-store.ts';
import type { VolumeStore } from '../volume/volume-store.ts';

/** The dependencies of the methods of the node service. They run in the mount namespace of the node. */
export interface CsiNode {
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

/** Returns an absolute path without dots and without a trailing slash, or throws. */
export function requirePath(value: string | undefined, what: string): string {
  const path = requireText(value, what);
  if (!isAbsolute(path) || normalize(path) !== path || path.endsWith('/')) {
    throw new CsiError('INVALID_ARGUMENT', `${what} ${JSON.stringify(path)} is no plain absolute path`);
  }
  return path;
}
