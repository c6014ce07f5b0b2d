import { ProductError } from '../../errors/product-error.ts';
import type { Field } from '../../platform/field.ts';
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
type DiskAccessMode = (typeof accessModes)[number];
const accessModes = ['ReadWriteOnce', 'ReadWriteOncePod'] as const;

/** Parses the cloud_properties of a disk. */
export function parseDiskProperties(properties: Field): DiskProperties {
  rejectBlockDevices(properties);
  properties.rejectUnknownKeys([
    'storage_class',
    'snapshot_class',
    'volume_attributes_class',
    'volume_mode',
    'access_mode',
  ]);
  const storageClass = properties.get('storage_class');
  return {
    // the empty name means static volumes
    storageClass: storageClass.value === '' ? '' : readClassName(storageClass),
    snapshotClass: readClassName(properties.get('snapshot_class')),
    attributesClass: readClassName(properties.get('volume_attributes_class')),
    accessMode: properties.get('access_mode').optional()?.oneOf(accessModes) ?? 'ReadWriteOnce',
  };
}

function readClassName(field: Field): string | undefined {
  return field
    .optional()
    ?.stringThat(isDnsSubdomain, 'must be the name of a class, which is a DNS subdomain in lower case');
}

/**
 * Rejects disks that must be block devices with NOT_SUPPORTED, by their cloud_properties and before any
 * change. The director gives a dynamic disk a `name`, and the agent passes the path of its device to jobs
 * (bosh-agent: SetupDynamicDisk); a volume of volume_mode Block is a device. A running container can only get
 * a mount, under every profile.
 */
function rejectBlockDevices(properties: Field): void {
  const whyAndNext =
    'is not supported: a disk is attached as a mounted file system, and no device reaches a running container; use a persistent disk of the instance group';
  const name = properties.get('name');
  if (name.isPresent) throw new ProductError('NOT_SUPPORTED', `a dynamic disk (${name.path}) ${whyAndNext}`);
  const mode = properties.get('volume_mode');
  if (mode.value === 'Block')
    throw new ProductError('NOT_SUPPORTED', `a block volume (${mode.path}) ${whyAndNext}`);
  mode.optional()?.oneOf(['Filesystem']);
}
