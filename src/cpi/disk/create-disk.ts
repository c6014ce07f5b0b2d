import { persistentVolumeClaims } from '../../kubernetes/resources.ts';
import type { CallContext } from '../call.ts';
import type { CreateDiskRequest } from '../protocol/methods.ts';
import { Field } from '../../platform/field.ts';
import { checkClasses } from './classes.ts';
import { buildClaim } from './disks.ts';
import { parseDiskProperties } from './disk-properties.ts';

/**
 * create_disk(size MiB, cloud_properties, vm_cid or null): creates a claim of exactly that size and returns
 * its cid. Returns before the claim is bound: a class that waits for its first consumer binds at the first
 * attach. Rejects a class that the cluster does not have, because the claim would never be bound. The VM is a
 * hint for the location of the disk; a class that waits for its first consumer follows it without help.
 */
export async function createDisk(
  call: CallContext,
  { sizeMiB, cloudProperties }: CreateDiskRequest,
): Promise<string> {
  const field = new Field(cloudProperties, 'create_disk.cloud_properties', 'INVALID_ARGUMENT');
  const properties = parseDiskProperties(field);
  await checkClasses(call, properties, field);
  const cid = `disk-${call.newUuid()}`;
  const { directorUuid } = call;
  const namespace = call.diskNamespace;
  await call.api.create(
    persistentVolumeClaims,
    buildClaim({ cid, namespace, sizeMiB, properties, directorUuid }),
  );
  return cid;
}
