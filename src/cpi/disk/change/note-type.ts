import type { PersistentVolumeClaim } from '../../../kubernetes/volume.ts';
import type { Cloud } from '../../cloud.ts';
import { annotation } from '../../labels.ts';
import type { DiskProperties } from '../claim.ts';
import { claimReference, typeAnnotations } from '../claim.ts';

/** Notes on a claim what of its disk's type no field of it has; no write where that is what it says. */
export async function noteType(
  cloud: Cloud,
  { metadata: { name = '', annotations = {} } }: PersistentVolumeClaim,
  properties: DiskProperties,
): Promise<void> {
  const wanted = typeAnnotations(properties);
  const keys = [annotation.snapshotClass, annotation.defaultClass];
  if (keys.every((key) => annotations[key] === wanted[key])) return;
  const changed = Object.fromEntries(keys.map((key) => [key, wanted[key] ?? null]));
  await cloud.api.patch(claimReference(cloud, name), { metadata: { annotations: changed } });
}
