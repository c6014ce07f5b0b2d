import { persistentVolumeClaims } from '../../kubernetes/resources.ts';
import type { Cloud } from '../cloud.ts';
import { diskNamespaceOf } from '../cloud.ts';
import type { Place } from '../input.ts';
import { at, optionalStringAt, positiveIntegerAt, recordAt } from '../input.ts';
import { checkClasses } from './check-classes.ts';
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
