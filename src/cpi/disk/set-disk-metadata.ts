import { isApiError } from '../../kubernetes/api-error.ts';
import type { PersistentVolumeClaim } from '../../kubernetes/volume.ts';
import type { Cloud } from '../cloud.ts';
import type { Place } from '../input.ts';
import { at, recordAt, stringAt } from '../input.ts';
import { label } from '../labels.ts';
import { metadataPatch } from '../metadata.ts';
import { isDiskCid } from '../names.ts';
import { claimReference } from './claim.ts';
import { findDisk } from './find-disk.ts';
import { diskNotFound } from './disk-not-found.ts';

/**
 * set_disk_metadata(disk_cid, metadata): one patch, which also claims the disk; one more where a copy is just taking the
 * disk's place, since that is the disk then. DISK_NOT_FOUND without it.
 */
export async function setDiskMetadata(cloud: Cloud, args: readonly unknown[]): Promise<null> {
  const place: Place = { code: 'INVALID_ARGUMENT', path: 'set_disk_metadata' };
  const cid = stringAt(args[0], at(place, 'disk_cid'));
  const metadata = recordAt(args[1], at(place, 'metadata'));
  if (!isDiskCid(cid)) throw diskNotFound(cloud, cid);
  // whoever describes a disk has heard of it, and by this cid
  const ownPatch = metadataPatch(metadata, { [label.unclaimed]: null, [label.replaces]: null });
  const patched = await patchIfThere(cloud, cid, ownPatch);
  if (patched !== undefined && patched.metadata.deletionTimestamp === undefined) return null;
  const name = (await findDisk(cloud, cid))?.metadata.name;
  if (patched !== undefined && (name === undefined || name === cid)) return null;
  const patch = metadataPatch(metadata, { [label.unclaimed]: null });
  if (name === undefined || (await patchIfThere(cloud, name, patch)) === undefined)
    throw diskNotFound(cloud, cid);
  return null;
}

async function patchIfThere(
  cloud: Cloud,
  name: string,
  patch: unknown,
): Promise<PersistentVolumeClaim | undefined> {
  try {
    return await cloud.api.patch<PersistentVolumeClaim>(claimReference(cloud, name), patch);
  } catch (error) {
    if (isApiError(error, 404)) return undefined;
    throw error;
  }
}
