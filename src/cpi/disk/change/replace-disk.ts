import { ifThere } from '../../../kubernetes/if-there.ts';
import type { PersistentVolumeClaim } from '../../../kubernetes/volume.ts';
import type { Cloud } from '../../cloud.ts';
import { annotation } from '../../labels.ts';
import { claimReference, isProvisional, isReplaced } from '../claim.ts';
import { waitUntilDetached } from '../detached-disk.ts';
import { diskGone } from '../disk-not-found.ts';
import { changed, copyOf, isDropping, readAgain, tries, writeSeen } from './copy-mark.ts';
import { refuseShrinking } from './plan-update.ts';

/**
 * Writes on a disk that the copy which it is marked with has taken its place. It writes on exactly the state that was read before
 * attachments were looked for, so an attach_disk either makes it look again or sees that the disk is replaced. Resolves with the
 * claim, for `finishReplacement`, or with undefined if another call has replaced the disk by this very copy and deleted it.
 * Rejects, nothing changed, with DISK_BUSY if the disk is attached, has another mark or is gone, with DISK_NOT_FOUND while
 * somebody deletes it, and with NOT_SUPPORTED if it is larger than the copy by now.
 *
 * Model: update.pml
 */
export async function replaceDisk(
  cloud: Cloud,
  first: PersistentVolumeClaim,
  { copyName, sizeMiB }: { readonly copyName: string; readonly sizeMiB: number },
): Promise<PersistentVolumeClaim | undefined> {
  for (let left = tries; left > 0; left -= 1) {
    const claim = await readAgain(cloud, first);
    if (claim === undefined) {
      if (await isStanding(cloud, copyName)) return undefined;
      throw changed(first);
    }
    if (isReplaced(claim) && copyOf(claim) === copyName) return claim;
    if (isReplaced(claim) || copyOf(claim) !== copyName || isDropping(claim)) throw changed(first);
    if (claim.metadata.deletionTimestamp !== undefined)
      throw diskGone(first.metadata.name ?? '', 'is being deleted');
    refuseShrinking(claim, sizeMiB);
    await waitUntilDetached(cloud, claim, 'updated');
    const replaced = await writeSeen(cloud, claim, { annotations: { [annotation.replaced]: 'true' } });
    if (replaced !== undefined) return replaced;
  }
  throw changed(first);
}

async function isStanding(cloud: Cloud, copyName: string): Promise<boolean> {
  const copy = await ifThere(cloud.api.get<PersistentVolumeClaim>(claimReference(cloud, copyName)));
  return copy !== undefined && !isProvisional(copy);
}
