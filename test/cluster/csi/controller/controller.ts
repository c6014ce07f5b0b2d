import type { Clock } from '../../../../src/platform/clock.ts';
import { CsiError } from '../grpc/csi-error.ts';
import type { Driver } from '../drivers.ts';
import { isId, type VolumeStore } from '../volume/volume-store.ts';
import type { VolumeRecord } from '../volume/volume-record.ts';
import type { KeyedLock } from '../volume/keyed-lock.ts';

/** The dependencies of the methods of the controller service. */
export interface Controller {
  readonly driver: Driver;
  readonly store: VolumeStore;
  /** Allows one call at a time for each volume. */
  readonly lock: KeyedLock;
  readonly clock: Clock;
}

export async function requireVolume({ store }: Controller, volumeId: string): Promise<VolumeRecord> {
  const volume = await findVolume(store, volumeId);
  if (volume === undefined) throw new CsiError('NOT_FOUND', `there is no volume ${JSON.stringify(volumeId)}`);
  return volume;
}

/** Returns undefined for a volume that does not exist. Throws INVALID_ARGUMENT without an id. */
export async function findVolume(store: VolumeStore, volumeId: string): Promise<VolumeRecord | undefined> {
  if (volumeId === '') throw new CsiError('INVALID_ARGUMENT', 'the volume id is missing');
  return isId(volumeId) ? await store.volume(volumeId) : undefined;
}

/** Throws UNIMPLEMENTED for a feature that this driver does not have. */
export function require(can: boolean, what: string, driver: Driver): void {
  if (!can) throw new CsiError('UNIMPLEMENTED', `${driver.name} cannot ${what}`);
}
