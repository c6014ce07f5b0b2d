import type { PersistentVolumeClaim } from '../../../kubernetes/volume.ts';
import type { CallContext } from '../../cloud.ts';
import { annotation } from '../../labels.ts';
import type { DiskProperties } from '../claim.ts';
import { claimReference, diskTypeAnnotations } from '../claim.ts';

/**
 * Records on a claim those properties of its disk type that it has no field for. Does not write if the record
 * is up to date.
 */
export async function annotateDiskType(
  cloud: CallContext,
  { metadata: { name = '', annotations = {} } }: PersistentVolumeClaim,
  properties: DiskProperties,
): Promise<void> {
  const wanted = diskTypeAnnotations(properties);
  const keys = [annotation.snapshotClass, annotation.defaultClass];
  if (keys.every((key) => annotations[key] === wanted[key])) return;
  const changed = Object.fromEntries(keys.map((key) => [key, wanted[key] ?? null]));
  await cloud.api.patch(claimReference(cloud, name), { metadata: { annotations: changed } });
}
