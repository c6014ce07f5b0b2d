import { ProductError } from '../../errors/product-error.ts';
import {
  type Json,
  type Location,
  rejectUnknownKeys,
  child,
  optionalStringAt,
  invalidValue,
} from '../input.ts';

import { isDnsSubdomain } from '../../kubernetes/names.ts';

export interface DiskProperties {
  /** Undefined: the class that was the cluster's default when the disk was made. Empty: a static volume. */
  readonly storageClass: string | undefined;
  /** VolumeSnapshotClass of the disk's snapshots. Undefined: the default of its driver. */
  readonly snapshotClass: string | undefined;
  readonly attributesClass: string | undefined;
  readonly accessMode: DiskAccessMode;
}

/**
 * One node at a time, or one pod: with the latter the scheduler keeps every other pod from the volume
 * (KEP-2485).
 */
type DiskAccessMode = 'ReadWriteOnce' | 'ReadWriteOncePod';

/** Parses the cloud_properties of a disk. */
export function parseDiskProperties(properties: Json, place: Location): DiskProperties {
  rejectBlockDevices(properties, place);
  rejectUnknownKeys(
    properties,
    ['storage_class', 'snapshot_class', 'volume_attributes_class', 'volume_mode', 'access_mode'],
    place,
  );
  const classAt = (key: string): string | undefined => readClassName(properties[key], child(place, key));
  return {
    // the empty name means static volumes
    storageClass: properties['storage_class'] === '' ? '' : classAt('storage_class'),
    snapshotClass: classAt('snapshot_class'),
    attributesClass: classAt('volume_attributes_class'),
    accessMode: readAccessMode(properties['access_mode'], child(place, 'access_mode')),
  };
}

function readAccessMode(value: unknown, place: Location): DiskAccessMode {
  const mode = optionalStringAt(value, place) ?? 'ReadWriteOnce';
  if (mode === 'ReadWriteOnce' || mode === 'ReadWriteOncePod') return mode;
  throw invalidValue(place, 'has to be ReadWriteOnce or ReadWriteOncePod');
}

function readClassName(value: unknown, place: Location): string | undefined {
  const name = optionalStringAt(value, place);
  if (name === undefined || isDnsSubdomain(name)) return name;
  throw invalidValue(place, 'has to be the name of a class, which is a DNS subdomain in lower case');
}

/**
 * Rejects disks that must be block devices with NOT_SUPPORTED, by their cloud_properties and before any
 * change. The director gives a dynamic disk a `name`, and the agent passes the path of its device to jobs
 * (bosh-agent: SetupDynamicDisk); a volume of volume_mode Block is a device. A running container can only get
 * a mount, under every profile.
 */
export function rejectBlockDevices(properties: Json, place: Location): void {
  const whyAndNext =
    'is not supported: a disk is attached as a mounted file system, and no device reaches a running container; use a persistent disk of the instance group';
  if ((properties['name'] ?? undefined) !== undefined)
    throw new ProductError('NOT_SUPPORTED', `a dynamic disk (${place.path}.name) ${whyAndNext}`);
  const mode = optionalStringAt(properties['volume_mode'], child(place, 'volume_mode')) ?? 'Filesystem';
  if (mode === 'Block')
    throw new ProductError('NOT_SUPPORTED', `a block volume (${place.path}.volume_mode) ${whyAndNext}`);
  if (mode !== 'Filesystem') throw invalidValue(child(place, 'volume_mode'), 'has to be Filesystem');
}
