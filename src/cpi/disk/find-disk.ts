import { persistentVolumeClaims } from '../../kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../kubernetes/volume.ts';
import { conflictError } from '../changed-by-others.ts';
import type { CallContext } from '../cloud.ts';
import { isManaged } from '../labels.ts';
import { isDiskCid } from '../names.ts';
import { claimReference, findClaim, isProvisional, isReplaced } from './claim.ts';
import { selectorsOf } from './former-cids.ts';

/** How many replacements of a disk that killed calls left are finished for one look. */
const tries = 3;

/**
 * The claim that stands for a cid: its own or, if update_disk replaced that and its caller may not have heard of it, the copy. A
 * replacement that a killed call left is finished first, whatever the verb. Undefined for a cid that names no disk of ours, and
 * for that of a copy which has replaced nothing.
 *
 * Model: update.pml
 */
export async function findDisk(cloud: CallContext, cid: string): Promise<PersistentVolumeClaim | undefined> {
  if (!isDiskCid(cid)) return undefined;
  for (let left = tries; left > 0; left -= 1) {
    const claim = await findClaim(cloud, cid);
    const own = claim !== undefined && isProvisional(claim) ? undefined : claim;
    if (own !== undefined && !isReplaced(own)) return own;
    const standing = own !== undefined && isUnfinished(own) ? [own] : await listCopies(cloud, cid);
    const disk = standing.find((copy) => !isReplaced(copy));
    if (disk !== undefined) return disk;
    const unfinished = standing.find(isUnfinished);
    if (unfinished === undefined) return standing[0] ?? own;
    const { finishReplacement } = await import('./change/finish-replacement.ts');
    await finishReplacement(cloud, unfinished);
  }
  throw conflictError('DISK_BUSY', `disk '${cid}'`);
}

/** The copies that took the place of that disk one after the other: those that are replaced may still be there. */
async function listCopies(cloud: CallContext, cid: string): Promise<PersistentVolumeClaim[]> {
  const { namespace } = claimReference(cloud, cid);
  const lists = await Promise.all(
    selectorsOf(cid).map((labelSelector) =>
      cloud.api.list<PersistentVolumeClaim>(persistentVolumeClaims, { namespace, labelSelector }),
    ),
  );
  return lists
    .flatMap(({ items }) => items)
    .filter((copy) => isManaged(copy, 'disk') && !isProvisional(copy));
}

const isUnfinished = (claim: PersistentVolumeClaim): boolean =>
  isReplaced(claim) && claim.metadata.deletionTimestamp === undefined;
