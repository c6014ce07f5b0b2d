import { ProductError } from '../../errors/product-error.ts';
import type { CallContext } from '../call.ts';
import type { ResizeDiskRequest } from '../protocol/methods.ts';
import { expandVolume, directorFallbackHint } from './update/change-in-place.ts';
import { parseBytes, hasReachedSize, formatMiB, requestedBytes } from './disks.ts';
import { requireDetachedDisk } from './detached-disk.ts';
import { findStorageClass, readStorageClasses } from './classes.ts';

/**
 * resize_disk(disk_cid, new_size MiB): grows a detached disk; its file system grows at the next attach. The
 * current size is success. NOT_SUPPORTED, without changes, for a smaller size, for a disk that was never
 * attached if its class binds at the first attach, and for a class without allowVolumeExpansion: the director
 * then copies. DISK_BUSY if update_disk replaces the disk during the call: the same call again grows the
 * replacement. Model: update.pml
 */
export async function resizeDisk(
  call: CallContext,
  { diskCid: cid, sizeMiB }: ResizeDiskRequest,
): Promise<null> {
  const claim = await requireDetachedDisk(call, cid, 'resized');
  const [now, requested] = [requestedBytes(claim), parseBytes(sizeMiB)];
  const refuse = (why: string): ProductError =>
    new ProductError(
      'NOT_SUPPORTED',
      `disk '${cid}' cannot be made ${sizeMiB} MiB: ${why}; ${directorFallbackHint}`,
    );
  if (requested < now) throw refuse(`it has ${formatMiB(now)}, and volumes do not shrink`);
  if (requested === now && (claim.status?.phase !== 'Bound' || hasReachedSize(claim, requested))) return null;
  if (claim.status?.phase !== 'Bound') throw refuse('it was never attached, so it has no volume yet');
  const classes = await readStorageClasses(call);
  const name = claim.spec.storageClassName ?? '';
  if (classes !== undefined && findStorageClass(classes, name)?.allowVolumeExpansion !== true) {
    throw refuse(`its storage class "${name}" does not have allowVolumeExpansion`);
  }
  await expandVolume(call, claim, sizeMiB);
  return null;
}
