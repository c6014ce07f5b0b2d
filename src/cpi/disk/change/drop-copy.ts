import { ignoreNotFound } from '../../../kubernetes/if-there.ts';
import type { ObjectReference } from '../../../kubernetes/api.ts';
import type { KubernetesObject } from '../../../kubernetes/object.ts';
import { persistentVolumeClaims, pods, volumeSnapshots } from '../../../kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../../kubernetes/volume.ts';
import type { CallContext } from '../../cloud.ts';
import { label } from '../../labels.ts';
import { requestDeletion, waitForDeletion } from '../../remove-object.ts';
import { isProvisional, isReplaced } from '../claim.ts';
import { consumerName } from './consumer-pod.ts';
import { concurrentChangeError, replacementName, markDiscarded, unmarkCopy } from './copy-mark.ts';

/** The snapshot through which a replacement is made. */
export const copySnapshotName = (copyName: string): string => `copy-${copyName}`;

/**
 * Discards the replacement that an update_disk made, or makes, of a disk, and then its mark on the disk: the
 * replacement would miss everything that is written to the disk from now on. Marks it as discarded first, so
 * that a running update_disk does not replace the disk by it. Does nothing without a mark. Idempotent.
 * Rejects with DISK_BUSY if another call has changed the disk since it was read: its replacement may be the
 * disk then.
 *
 * Model: update.pml
 */
export async function discardReplacement(cloud: CallContext, claim: PersistentVolumeClaim): Promise<void> {
  if (isReplaced(claim)) throw concurrentChangeError(claim);
  const copyName = replacementName(claim);
  if (copyName === undefined || claim.metadata.deletionTimestamp !== undefined) return;
  const forsaken = await markDiscarded(cloud, claim);
  await deleteReplacement(cloud, claim.metadata.namespace ?? '', copyName);
  await unmarkCopy(cloud, forsaken);
}

/**
 * Removes a replacement that no disk names, with its helper objects, unless it has taken the disk's place.
 * Only a disk that names it could still give it that place. Idempotent.
 *
 * Model: update.pml
 */
export async function removeProvisionalCopy(
  cloud: CallContext,
  namespace: string,
  copyName: string,
): Promise<void> {
  const reference = { resource: persistentVolumeClaims, namespace, name: copyName };
  const copy = await ignoreNotFound(cloud.api.get<PersistentVolumeClaim>(reference));
  if (copy === undefined || isProvisional(copy)) await deleteReplacement(cloud, namespace, copyName);
}

/** Removes a replacement with its helper objects. Idempotent. */
async function deleteReplacement(cloud: CallContext, namespace: string, copyName: string): Promise<void> {
  // a pod blocks the deletion of its claim, and a claim that waits for its volume that of the snapshot
  await removeConsumer(cloud, namespace, copyName);
  await deleteIf(
    cloud,
    { resource: persistentVolumeClaims, namespace, name: copyName },
    ({ metadata }) => metadata.labels?.[label.replaces] !== undefined,
  );
  await removeCopySnapshot(cloud, namespace, copyName);
}

/**
 * Removes the objects that a replacement needed while it was made. A missing one, or a missing API, is
 * success.
 */
export async function removeHelpers(cloud: CallContext, namespace: string, copyName: string): Promise<void> {
  await removeConsumer(cloud, namespace, copyName);
  await removeCopySnapshot(cloud, namespace, copyName);
}

const removeConsumer = (cloud: CallContext, namespace: string, copyName: string): Promise<void> =>
  deleteIf(cloud, { resource: pods, namespace, name: consumerName(copyName) }, isHelper);

const removeCopySnapshot = (cloud: CallContext, namespace: string, copyName: string): Promise<void> =>
  deleteIf(cloud, { resource: volumeSnapshots, namespace, name: copySnapshotName(copyName) }, isHelper);

async function deleteIf(
  cloud: CallContext,
  reference: ObjectReference,
  matches: (object: KubernetesObject) => boolean,
): Promise<void> {
  const object = await ignoreNotFound(cloud.api.get(reference));
  if (object === undefined || !matches(object)) return;
  const uid = object.metadata.uid ?? '';
  await requestDeletion(cloud, reference, uid);
  const deadlineSeconds = cloud.config.deadlines.deleteDisk;
  const what = `${reference.resource.plural} '${reference.name}', made for a copy,`;
  await waitForDeletion(cloud, { reference, uid, deadlineSeconds, what });
}

const isHelper = ({ metadata }: KubernetesObject): boolean => metadata.labels?.[label.kind] === 'copy';
