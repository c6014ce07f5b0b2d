import { persistentVolumeClaims } from '../../kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../kubernetes/volume.ts';
import { conflictError } from '../changed-by-others.ts';
import type { CallContext } from '../cloud.ts';
import { isManaged } from '../labels.ts';
import { isDiskCid } from '../names.ts';
import { claimReference, findClaim, isProvisional, isReplaced } from './claim.ts';
import { selectorsOf } from './former-cids.ts';

/** The maximum number of replacements that one lookup finishes, if killed calls left several of one disk. */
const tries = 3;

/**
 * Finds the claim of a disk. If update_disk has replaced the disk and the caller may not know the new cid,
 * returns the replacement. Whatever the verb, it first finishes a replacement that a killed call left.
 * Undefined for a cid of no disk of the CPI, and for that of a replacement which has not replaced anything.
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

/**
 * Returns the replacements that took the place of that disk one after the other. Those that have been
 * replaced themselves may still exist.
 */
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
