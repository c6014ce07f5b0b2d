import { annotation, label, isManaged } from '../../objects/labels.ts';
import { ignoreNotFound, type ObjectReference } from '../../../kubernetes/api.ts';
import { ProductError } from '../../../errors/product-error.ts';
import type { PersistentVolumeClaim } from '../../../kubernetes/types/storage.ts';
import type { CallContext } from '../../call.ts';
import { claimReference, isReplaced, isProvisional, patchClaim } from '../disks.ts';
import type { KubernetesObject, Stored } from '../../../kubernetes/object.ts';
import { persistentVolumeClaims, pods, volumeSnapshots } from '../../../kubernetes/resources.ts';
import { requestDeletion, waitForDeletion } from '../../objects/objects.ts';
import { hasPreviousCid } from '../previous-cids.ts';

/** The number of attempts if other calls or controllers change the claim between the read and the write. */
export const maxAttempts = 10;

export const replacementName = ({ metadata }: PersistentVolumeClaim): string | undefined =>
  metadata.annotations?.[annotation.replacement];

/** Returns true for a disk whose replacement is being removed: that one never takes the disk's place. */
export const isDiscarded = ({ metadata }: PersistentVolumeClaim): boolean =>
  metadata.annotations?.[annotation.replacementDiscarded] === 'true';

/** Checks a disk that other calls have changed. Rejects if it must not be marked any more. */
type Recheck = (now: PersistentVolumeClaim) => Promise<unknown>;

/**
 * Marks the disk with the name of its replacement; if two calls try at once, one succeeds. Rejects with
 * DISK_BUSY, and as `recheck` does, which checks the disk again if it has changed: an attach_disk that comes
 * before the mark does not know of the replacement.
 *
 * Model: update.pml
 */
export async function recordReplacement(
  call: CallContext,
  claim: Stored<PersistentVolumeClaim>,
  replacementCid: string,
  recheck: Recheck,
): Promise<Stored<PersistentVolumeClaim>> {
  const mark = { [annotation.replacement]: replacementCid, [annotation.replacementDiscarded]: null };
  const marked = await updateReplacementAnnotation(call, claim, mark, (now) => {
    if (isDiscarded(now)) throw concurrentChangeError(now);
    return recheck(now);
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
  call: CallContext,
  claim: Stored<PersistentVolumeClaim>,
): Promise<Stored<PersistentVolumeClaim>> {
  const discarded = await updateReplacementAnnotation(call, claim, {
    [annotation.replacementDiscarded]: 'true',
  });
  if (discarded === undefined) throw concurrentChangeError(claim);
  return discarded;
}

/**
 * Removes the mark from a disk whose replacement was removed. A mark that names another replacement belongs
 * to another call and stays.
 *
 * Model: update.pml
 */
export async function unmarkReplacement(
  call: CallContext,
  discarded: Stored<PersistentVolumeClaim>,
): Promise<void> {
  await updateReplacementAnnotation(call, discarded, {
    [annotation.replacement]: null,
    [annotation.replacementDiscarded]: null,
  });
}

/**
 * Rejects with DISK_BUSY if the disk is not marked with that replacement any more, or the replacement is
 * being discarded. A deleted disk is accepted: another call may have put the replacement in its place.
 *
 * Model: update.pml
 */
export async function assertStillPlanned(
  call: CallContext,
  disk: PersistentVolumeClaim,
  replacementCid: string,
): Promise<void> {
  const now = await rereadClaim(call, disk);
  if (now !== undefined && (replacementName(now) !== replacementCid || isDiscarded(now)))
    throw concurrentChangeError(disk);
}

/** Undefined if the claim is deleted, or another one has its name. */
export async function rereadClaim(
  call: CallContext,
  { metadata: { name, uid } }: PersistentVolumeClaim,
): Promise<Stored<PersistentVolumeClaim> | undefined> {
  const now = await ignoreNotFound(call.api.get<PersistentVolumeClaim>(claimReference(call, name)));
  return now?.metadata.uid === uid ? now : undefined;
}

/**
 * Returns undefined, without writing, if the disk has another mark than `first`, or is replaced, terminating
 * or deleted.
 */
async function updateReplacementAnnotation(
  call: CallContext,
  first: Stored<PersistentVolumeClaim>,
  annotations: Readonly<Record<string, string | null>>,
  recheck?: Recheck,
): Promise<Stored<PersistentVolumeClaim> | undefined> {
  let claim: Stored<PersistentVolumeClaim> | undefined = first;
  for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return undefined;
    if (replacementName(claim) !== replacementName(first) || isReplaced(claim)) return undefined;
    if (claim !== first) await recheck?.(claim);
    const written = await patchClaim(call, claim, { annotations });
    if (written !== undefined) return written;
    claim = await rereadClaim(call, first);
  }
  throw concurrentChangeError(first);
}

export const concurrentChangeError = ({ metadata }: PersistentVolumeClaim): ProductError =>
  new ProductError(
    'DISK_BUSY',
    `disk '${metadata.name}' was updated, attached or deleted by another call at the same time; run the call again`,
  );

/**
 * Discards the replacement that an update_disk made, or makes, of a disk, and then its mark on the disk: the
 * replacement would miss everything that is written to the disk from now on. Marks it as discarded first, so
 * that a running update_disk does not replace the disk by it. Does nothing without a mark. Idempotent.
 * Rejects with DISK_BUSY if another call has changed the disk since it was read: its replacement may be the
 * disk then.
 *
 * Model: update.pml
 */
export async function discardReplacement(
  call: CallContext,
  claim: Stored<PersistentVolumeClaim>,
): Promise<void> {
  if (isReplaced(claim)) throw concurrentChangeError(claim);
  const cid = replacementName(claim);
  if (cid === undefined || claim.metadata.deletionTimestamp !== undefined) return;
  const discarded = await markDiscarded(call, claim);
  await new Replacement(call, cid).delete();
  await unmarkReplacement(call, discarded);
}

/**
 * Removes the replacements of a deleted disk that no disk names. An update_disk leaves one if it was killed
 * just after it had made the replacement, and another call had already removed the mark from the disk.
 * Idempotent.
 */
export async function removeOrphanedReplacements(call: CallContext, diskCid: string): Promise<void> {
  const { items } = await call.api.list<PersistentVolumeClaim>(persistentVolumeClaims, {
    namespace: call.diskNamespace,
    labelSelector: label.provisional,
  });
  for (const claim of items) {
    if (isManaged(claim, 'disk') && hasPreviousCid(claim, diskCid))
      await new Replacement(call, claim.metadata.name).deleteIfProvisional();
  }
}

/**
 * The claim that is to take the place of a disk, and its helper objects while it is made: a snapshot of the
 * disk, and a pod that is its first consumer. Model: update.pml
 */
export class Replacement {
  readonly cid: string;
  readonly #call: CallContext;

  constructor(call: CallContext, cid: string) {
    this.#call = call;
    this.cid = cid;
  }

  get snapshotName(): string {
    return `copy-${this.cid}`;
  }

  /** Returns the claim, also a terminating one; undefined if it does not exist. */
  async find(): Promise<Stored<PersistentVolumeClaim> | undefined> {
    const { api } = this.#call;
    return ignoreNotFound(api.get<PersistentVolumeClaim>(claimReference(this.#call, this.cid)));
  }

  /** Returns true if the claim has taken the place of the disk. */
  async isPromoted(): Promise<boolean> {
    const claim = await this.find();
    return claim !== undefined && !isProvisional(claim);
  }

  /** Deletes the helper objects. A missing one, or a missing API, is success. */
  async removeHelpers(): Promise<void> {
    await this.#removeConsumer();
    await this.#removeSnapshot();
  }

  /** Deletes the claim with its helper objects. Idempotent. */
  async delete(): Promise<void> {
    // a pod blocks the deletion of its claim, and a claim that waits for its volume that of the snapshot
    await this.#removeConsumer();
    const isReplacement = ({ metadata }: KubernetesObject): boolean =>
      metadata.labels?.[label.replaces] !== undefined;
    await this.#deleteIf(isReplacement, claimReference(this.#call, this.cid));
    await this.#removeSnapshot();
  }

  /**
   * Deletes a replacement that no disk names, with its helper objects, unless it has taken the disk's place.
   * Only a disk that names it could still give it that place. Idempotent.
   */
  async deleteIfProvisional(): Promise<void> {
    const claim = await this.find();
    if (claim === undefined || isProvisional(claim)) await this.delete();
  }

  async #removeConsumer(): Promise<void> {
    const namespace = this.#call.diskNamespace;
    await this.#deleteIf(isHelper, { resource: pods, namespace, name: consumerName(this.cid) });
  }

  async #removeSnapshot(): Promise<void> {
    const namespace = this.#call.diskNamespace;
    await this.#deleteIf(isHelper, { resource: volumeSnapshots, namespace, name: this.snapshotName });
  }

  /** Deletes the object, if it exists and matches, and waits until it is deleted. */
  async #deleteIf(matches: (object: KubernetesObject) => boolean, reference: ObjectReference): Promise<void> {
    const object = await ignoreNotFound(this.#call.api.get(reference));
    if (object === undefined || !matches(object)) return;
    const uid = object.metadata.uid;
    await requestDeletion(this.#call, reference, uid);
    const deadlineSeconds = this.#call.config.deadlines.deleteDisk;
    const what = `${reference.resource.plural} '${reference.name}', made for a copy,`;
    await waitForDeletion(this.#call, { reference, uid, deadlineSeconds, what });
  }
}

const isHelper = ({ metadata }: KubernetesObject): boolean => metadata.labels?.[label.kind] === 'copy';

/** Returns the name of the pod that is the first consumer of a replacement. */
export const consumerName = (replacementCid: string): string => `bind-${replacementCid}`;
