import { ignoreNotFound } from '../../../kubernetes/if-there.ts';
import { ProductError } from '../../../errors/product-error.ts';
import { isApiError } from '../../../kubernetes/api-error.ts';
import type { PersistentVolumeClaim } from '../../../kubernetes/volume.ts';
import type { CallContext } from '../../cloud.ts';
import { annotation } from '../../labels.ts';
import { claimReference, isReplaced } from '../claim.ts';

/** The number of attempts if other calls or controllers change the claim between the read and the write. */
export const tries = 10;

export const replacementName = ({ metadata }: PersistentVolumeClaim): string | undefined =>
  metadata.annotations?.[annotation.copy];

/** Returns true for a disk whose replacement is being removed: that one never takes the disk's place. */
export const isDiscarded = ({ metadata }: PersistentVolumeClaim): boolean =>
  metadata.annotations?.[annotation.copyDropped] === 'true';

/** Checks a disk that other calls have changed. Rejects if it must not be marked any more. */
type Recheck = (now: PersistentVolumeClaim) => Promise<unknown>;

/**
 * Marks the disk with the name of its replacement; if two calls try at once, one succeeds. Rejects with
 * DISK_BUSY, and as `look` does, which checks the disk again if it has changed: an attach_disk that comes
 * before the mark does not know of the replacement.
 *
 * Model: update.pml
 */
export async function recordReplacement(
  cloud: CallContext,
  claim: PersistentVolumeClaim,
  copyName: string,
  look: Recheck,
): Promise<PersistentVolumeClaim> {
  const mark = { [annotation.copy]: copyName, [annotation.copyDropped]: null };
  const marked = await updateReplacementAnnotation(cloud, claim, mark, (now) => {
    if (isDiscarded(now)) throw concurrentChangeError(now);
    return look(now);
  });
  if (marked === undefined) throw concurrentChangeError(claim);
  return marked;
}

/**
 * Marks the replacement of a disk as discarded before it is deleted. From then on no call replaces the disk
 * by it. Rejects with DISK_BUSY if the disk does not name that replacement any more, or was replaced by it.
 *
 * Model: update.pml
 */
export async function markDiscarded(
  cloud: CallContext,
  claim: PersistentVolumeClaim,
): Promise<PersistentVolumeClaim> {
  const forsaken = await updateReplacementAnnotation(cloud, claim, { [annotation.copyDropped]: 'true' });
  if (forsaken === undefined) throw concurrentChangeError(claim);
  return forsaken;
}

/**
 * Removes the mark from a disk whose replacement was removed. A mark that names another replacement belongs
 * to another call and stays.
 *
 * Model: update.pml
 */
export async function unmarkCopy(cloud: CallContext, forsaken: PersistentVolumeClaim): Promise<void> {
  await updateReplacementAnnotation(cloud, forsaken, {
    [annotation.copy]: null,
    [annotation.copyDropped]: null,
  });
}

/**
 * Rejects with DISK_BUSY if the disk is not marked with that replacement any more, or the replacement is
 * being discarded. A deleted disk is accepted: another call may have put the replacement in its place.
 *
 * Model: update.pml
 */
export async function assertStillPlanned(
  cloud: CallContext,
  disk: PersistentVolumeClaim,
  copyName: string,
): Promise<void> {
  const now = await readAgain(cloud, disk);
  if (now !== undefined && (replacementName(now) !== copyName || isDiscarded(now)))
    throw concurrentChangeError(disk);
}

/** Undefined if the claim is deleted, or another one has its name. */
export async function readAgain(
  cloud: CallContext,
  { metadata: { name = '', uid } }: PersistentVolumeClaim,
): Promise<PersistentVolumeClaim | undefined> {
  const now = await ignoreNotFound(cloud.api.get<PersistentVolumeClaim>(claimReference(cloud, name)));
  return now?.metadata.uid === uid ? now : undefined;
}

/** The labels and annotations of a claim that a patch changes; null removes one. */
interface Marks {
  readonly labels?: Readonly<Record<string, string | null>>;
  readonly annotations: Readonly<Record<string, string | null>>;
}

/**
 * Writes to exactly the version that was read. Returns undefined, without writing, if another call changed or
 * deleted the claim.
 */
export async function writeSeen(
  cloud: CallContext,
  { metadata: { name = '', resourceVersion = '' } }: PersistentVolumeClaim,
  marks: Marks,
): Promise<PersistentVolumeClaim | undefined> {
  const patch = { metadata: { resourceVersion, ...marks } };
  try {
    return await cloud.api.patch<PersistentVolumeClaim>(claimReference(cloud, name), patch);
  } catch (error) {
    if (isApiError(error, 404) || isApiError(error, 409)) return undefined;
    throw error;
  }
}

/**
 * Returns undefined, without writing, if the disk has another mark than `first`, or is replaced, terminating
 * or deleted.
 */
async function updateReplacementAnnotation(
  cloud: CallContext,
  first: PersistentVolumeClaim,
  annotations: Readonly<Record<string, string | null>>,
  look?: Recheck,
): Promise<PersistentVolumeClaim | undefined> {
  let claim: PersistentVolumeClaim | undefined = first;
  for (let left = tries; left > 0; left -= 1) {
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return undefined;
    if (replacementName(claim) !== replacementName(first) || isReplaced(claim)) return undefined;
    if (claim !== first) await look?.(claim);
    const written = await writeSeen(cloud, claim, { annotations });
    if (written !== undefined) return written;
    claim = await readAgain(cloud, first);
  }
  throw concurrentChangeError(first);
}

export const concurrentChangeError = ({ metadata }: PersistentVolumeClaim): ProductError =>
  new ProductError(
    'DISK_BUSY',
    `disk '${metadata.name ?? ''}' was updated, attached or deleted by another call at the same time; run the call again`,
  );
