import { ifThere } from '../../../kubernetes/if-there.ts';
import type { ObjectReference } from '../../../kubernetes/api.ts';
import type { KubernetesObject } from '../../../kubernetes/object.ts';
import { persistentVolumeClaims, pods, volumeSnapshots } from '../../../kubernetes/resources.ts';
import type { PersistentVolumeClaim } from '../../../kubernetes/volume.ts';
import type { Cloud } from '../../cloud.ts';
import { annotation, label } from '../../labels.ts';
import { requestDeletion, waitUntilGone } from '../../remove-object.ts';
import { consumerName } from './consumer-pod.ts';
import { copyOf, forsakeCopy } from './copy-mark.ts';

/** The snapshot through which a copy is made. */
export const copySnapshotName = (copyName: string): string => `copy-${copyName}`;

/**
 * Removes the copy that a killed update_disk left of a disk that is still whole, and then the disk's mark of it: what is
 * written to the disk from now on would not be in it. The disk says so first, for an update_disk that is still at work
 * would delete it in favour of a copy that goes. Does nothing without a mark. Idempotent. Rejects with DISK_BUSY where
 * the disk, as it was read, has gone by now: the copy is the disk then.
 */
export async function dropCopy(cloud: Cloud, claim: PersistentVolumeClaim): Promise<void> {
  const copyName = copyOf(claim);
  if (copyName === undefined || claim.metadata.deletionTimestamp !== undefined) return;
  const { name = '', namespace = '' } = claim.metadata;
  await forsakeCopy(cloud, claim);
  await removeCopy(cloud, namespace, copyName);
  await cloud.api.patch(
    { resource: persistentVolumeClaims, namespace, name },
    { metadata: { annotations: { [annotation.copy]: null, [annotation.copyDropped]: null } } },
  );
}

/** Removes a copy that its disk is not to be deleted for, with what it needed. Idempotent. */
export async function removeCopy(cloud: Cloud, namespace: string, copyName: string): Promise<void> {
  // a pod holds its claim, and a claim that waits for its volume the snapshot
  await removeConsumer(cloud, namespace, copyName);
  await removeIf(
    cloud,
    { resource: persistentVolumeClaims, namespace, name: copyName },
    ({ metadata }) => metadata.labels?.[label.replaces] !== undefined,
  );
  await removeCopySnapshot(cloud, namespace, copyName);
}

/** Removes what a copy needed while it was made. A missing one, or a missing API, is success. */
export async function removeHelpers(cloud: Cloud, namespace: string, copyName: string): Promise<void> {
  await removeConsumer(cloud, namespace, copyName);
  await removeCopySnapshot(cloud, namespace, copyName);
}

const removeConsumer = (cloud: Cloud, namespace: string, copyName: string): Promise<void> =>
  removeIf(cloud, { resource: pods, namespace, name: consumerName(copyName) }, isHelper);

const removeCopySnapshot = (cloud: Cloud, namespace: string, copyName: string): Promise<void> =>
  removeIf(cloud, { resource: volumeSnapshots, namespace, name: copySnapshotName(copyName) }, isHelper);

async function removeIf(
  cloud: Cloud,
  reference: ObjectReference,
  isRight: (object: KubernetesObject) => boolean,
): Promise<void> {
  const object = await ifThere(cloud.api.get(reference));
  if (object === undefined || !isRight(object)) return;
  const uid = object.metadata.uid ?? '';
  await requestDeletion(cloud, reference, uid);
  const deadlineSeconds = cloud.config.deadlines.deleteDisk;
  const what = `${reference.resource.plural} '${reference.name}', made for a copy,`;
  await waitUntilGone(cloud, { reference, uid, deadlineSeconds, what });
}

const isHelper = ({ metadata }: KubernetesObject): boolean => metadata.labels?.[label.kind] === 'copy';
