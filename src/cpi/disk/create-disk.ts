import { isApiError } from '../../kubernetes/api-error.ts';
import type { Resource } from '../../kubernetes/api.ts';
import {
  persistentVolumeClaims,
  storageClasses,
  volumeAttributesClasses,
  volumeSnapshotClasses,
} from '../../kubernetes/resources.ts';
import type { Cloud } from '../cloud.ts';
import { diskNamespaceOf } from '../cloud.ts';
import type { Place } from '../input.ts';
import { at, optionalStringAt, positiveIntegerAt, recordAt, wrong } from '../input.ts';
import type { DiskProperties } from './claim.ts';
import { diskClaim, parseDiskProperties } from './claim.ts';

/**
 * create_disk(size MiB, cloud_properties, vm_cid or null): makes a claim of exactly that size and returns its cid.
 * Returns before the claim is bound: a class that waits for its first consumer binds at the first attach.
 * A class that the cluster does not have is refused: the claim would never be bound.
 * The VM is a hint where to put the disk, which such a class follows by itself.
 */
export async function createDisk(cloud: Cloud, args: readonly unknown[]): Promise<string> {
  const place: Place = { code: 'INVALID_ARGUMENT', path: 'create_disk' };
  const sizeMiB = positiveIntegerAt(args[0], at(place, 'size'));
  const properties = parseDiskProperties(
    recordAt(args[1], at(place, 'cloud_properties')),
    at(place, 'cloud_properties'),
  );
  optionalStringAt(args[2], at(place, 'vm_cid'));
  await checkClasses(cloud, properties, at(place, 'cloud_properties'));
  const cid = `disk-${cloud.newUuid()}`;
  const { directorUuid } = cloud;
  const namespace = diskNamespaceOf(cloud);
  await cloud.api.create(
    persistentVolumeClaims,
    diskClaim({ cid, namespace, sizeMiB, properties, directorUuid }),
  );
  return cid;
}

/** Each class that is named has to be there: a claim would wait for it for ever. */
async function checkClasses(cloud: Cloud, properties: DiskProperties, place: Place): Promise<void> {
  const { storageClass, attributesClass, snapshotClass } = properties;
  await Promise.all([
    checkClass(cloud, storageClasses, storageClass, at(place, 'storage_class')),
    checkClass(cloud, volumeAttributesClasses, attributesClass, at(place, 'volume_attributes_class')),
    checkClass(cloud, volumeSnapshotClasses, snapshotClass, at(place, 'snapshot_class')),
  ]);
}

async function checkClass(
  cloud: Cloud,
  resource: Resource,
  name: string | undefined,
  place: Place,
): Promise<void> {
  if (name === undefined || name === '') return;
  try {
    await cloud.api.get({ resource, name });
  } catch (error) {
    if (isApiError(error, 404)) {
      const hint = resource === storageClasses ? ' (static volumes have the class "")' : '';
      throw wrong(place, `names a class that the cluster does not have: "${name}"${hint}`);
    }
    // a role that may not read classes can still make claims
    if (!isApiError(error, 403)) throw error;
  }
}
