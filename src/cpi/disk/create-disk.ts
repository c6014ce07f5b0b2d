import { persistentVolumeClaims } from '../../kubernetes/resources.ts';
import type { Cloud } from '../cloud.ts';
import type { Place } from '../input.ts';
import { at, optionalStringAt, positiveIntegerAt, recordAt } from '../input.ts';
import { diskClaim, parseDiskProperties } from './claim.ts';

/**
 * create_disk(size MiB, cloud_properties, vm_cid or null): makes a claim of exactly that size and returns its cid.
 * Returns before the claim is bound: a class that waits for its first consumer binds at the first attach.
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
  const cid = `disk-${cloud.newUuid()}`;
  const { namespace, directorUuid } = cloud;
  await cloud.api.create(
    persistentVolumeClaims,
    diskClaim({ cid, namespace, sizeMiB, properties, directorUuid }),
  );
  return cid;
}
