import { ProductError } from '../../errors/product-error.ts';
import type { Cloud } from '../cloud.ts';
import type { Place } from '../input.ts';
import { at, positiveIntegerAt, stringAt } from '../input.ts';
import { grow } from './change/grow.ts';
import { bytesOf, hasSize, inMiB, requestedBytes } from './claim-size.ts';
import { detachedDisk } from './detached-disk.ts';
import { classNamed, readStorageClasses } from './storage-classes.ts';
import { ownWay } from './change/own-way.ts';

/**
 * resize_disk(disk_cid, new_size MiB): grows a detached disk; its file system follows at the next attach. The size that it
 * has is success. NOT_SUPPORTED, nothing changed, for less, for a disk that never was attached where its class binds then,
 * and for a class without allowVolumeExpansion: the director then copies. DISK_BUSY if update_disk puts a copy in the
 * place of the disk meanwhile: the same call again grows the copy. Model: change/update.pml
 */
export async function resizeDisk(cloud: Cloud, args: readonly unknown[]): Promise<null> {
  const place: Place = { code: 'INVALID_ARGUMENT', path: 'resize_disk' };
  const cid = stringAt(args[0], at(place, 'disk_cid'));
  const sizeMiB = positiveIntegerAt(args[1], at(place, 'new_size'));
  const claim = await detachedDisk(cloud, cid, 'resized');
  const [now, wanted] = [requestedBytes(claim), bytesOf(sizeMiB)];
  const refuse = (why: string): ProductError =>
    new ProductError('NOT_SUPPORTED', `disk '${cid}' cannot be made ${sizeMiB} MiB: ${why}; ${ownWay}`);
  if (wanted < now) throw refuse(`it has ${inMiB(now)}, and volumes do not shrink`);
  if (wanted === now && (claim.status?.phase !== 'Bound' || hasSize(claim, wanted))) return null;
  if (claim.status?.phase !== 'Bound') throw refuse('it was never attached, so it has no volume yet');
  const classes = await readStorageClasses(cloud);
  const name = claim.spec.storageClassName ?? '';
  if (classes !== undefined && classNamed(classes, name)?.allowVolumeExpansion !== true) {
    throw refuse(`its storage class "${name}" does not have allowVolumeExpansion`);
  }
  await grow(cloud, claim, sizeMiB);
  return null;
}
