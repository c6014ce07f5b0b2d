import { ifThere } from '../../../kubernetes/if-there.ts';
import { ProductError } from '../../../errors/product-error.ts';
import { isApiError } from '../../../kubernetes/api-error.ts';
import type { ObjectReference } from '../../../kubernetes/api.ts';
import { persistentVolumeClaims } from '../../../kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../../kubernetes/volume.ts';
import type { Cloud } from '../../cloud.ts';
import { annotation } from '../../labels.ts';

/** How often a claim may be changed by others, controllers too, between our look and our write. */
const tries = 10;

export const copyOf = ({ metadata }: PersistentVolumeClaim): string | undefined =>
  metadata.annotations?.[annotation.copy];

/** True for a disk whose copy is on its way out: it is not to take the disk's place any more. */
export const isDropping = ({ metadata }: PersistentVolumeClaim): boolean =>
  metadata.annotations?.[annotation.copyDropped] === 'true';

/** Rejects where a disk that others have changed is not to be marked any more. */
type Look = (now: PersistentVolumeClaim) => Promise<unknown>;

/**
 * Marks the disk with the name of its copy; of two calls at once one does. Rejects with DISK_BUSY, and as `look` does, which sees the
 * disk again where it was changed meanwhile: an attach_disk that comes before the mark does not know of the copy.
 */
export const markCopy = (
  cloud: Cloud,
  claim: PersistentVolumeClaim,
  copyName: string,
  look: Look,
): Promise<PersistentVolumeClaim> =>
  changeMark(cloud, claim, { [annotation.copy]: copyName, [annotation.copyDropped]: null }, (now) => {
    if (isDropping(now)) throw changed(now);
    return look(now);
  });

/**
 * Says that the copy of a disk goes, before it goes: from here on no call deletes the disk in its favour. Rejects with
 * DISK_BUSY where the disk has gone by now: the copy is the disk then.
 */
export const forsakeCopy = (cloud: Cloud, claim: PersistentVolumeClaim): Promise<PersistentVolumeClaim> =>
  changeMark(cloud, claim, { [annotation.copyDropped]: 'true' });

/**
 * Rejects with DISK_BUSY where the disk is not marked with that copy any more, or the copy is being dropped. One that is gone passes:
 * another call has put the copy in its place.
 */
export async function requireMarked(
  cloud: Cloud,
  disk: PersistentVolumeClaim,
  copyName: string,
): Promise<void> {
  const now = await read(cloud, disk);
  if (now !== undefined && (copyOf(now) !== copyName || isDropping(now))) throw changed(disk);
}

/**
 * Deletes a disk in favour of its copy, while it is marked with that. One that is going or gone is success. Rejects with
 * DISK_BUSY, nothing deleted, where the copy was dropped meanwhile.
 */
export async function deleteCopied(
  cloud: Cloud,
  first: PersistentVolumeClaim,
  copyName: string,
): Promise<void> {
  const reference = referenceTo(first);
  for (let left = tries; left > 0; left -= 1) {
    const claim = await read(cloud, first);
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return;
    if (copyOf(claim) !== copyName || isDropping(claim)) throw changed(first);
    const { uid = '', resourceVersion = '' } = claim.metadata;
    try {
      await cloud.api.delete(reference, {
        preconditions: { uid, resourceVersion },
        propagationPolicy: 'Background',
      });
      return;
    } catch (error) {
      if (isApiError(error, 404)) return;
      if (!isApiError(error, 409)) throw error;
    }
  }
  throw changed(first);
}

/** On exactly the state that was seen: whoever changes or deletes the disk at the same time is a conflict. */
async function changeMark(
  cloud: Cloud,
  first: PersistentVolumeClaim,
  annotations: Readonly<Record<string, string | null>>,
  look?: Look,
): Promise<PersistentVolumeClaim> {
  let claim: PersistentVolumeClaim | undefined = first;
  for (let left = tries; left > 0; left -= 1) {
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) break;
    if (copyOf(claim) !== copyOf(first)) break;
    if (claim !== first) await look?.(claim);
    const { resourceVersion = '' } = claim.metadata;
    try {
      return await cloud.api.patch<PersistentVolumeClaim>(referenceTo(first), {
        metadata: { resourceVersion, annotations },
      });
    } catch (error) {
      if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
    }
    claim = await read(cloud, first);
  }
  throw changed(first);
}

const referenceTo = ({
  metadata: { name = '', namespace = '' },
}: PersistentVolumeClaim): ObjectReference => ({
  resource: persistentVolumeClaims,
  namespace,
  name,
});

/** Undefined where it is gone, or another has its name. */
async function read(cloud: Cloud, first: PersistentVolumeClaim): Promise<PersistentVolumeClaim | undefined> {
  const now = await ifThere(cloud.api.get<PersistentVolumeClaim>(referenceTo(first)));
  return now?.metadata.uid === first.metadata.uid ? now : undefined;
}

export const changed = ({ metadata }: PersistentVolumeClaim): ProductError =>
  new ProductError(
    'DISK_BUSY',
    `disk '${metadata.name ?? ''}' was updated, attached or deleted by another call at the same time; run the call again`,
  );
