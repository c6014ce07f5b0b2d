import { isApiError } from '../../kubernetes/api-error.ts';
import type { ObjectReference } from '../../kubernetes/api.ts';
import type { KubernetesObject } from '../../kubernetes/object.ts';
import type { Cloud } from '../cloud.ts';
import { listAttachments, requestEnd, waitUntilEnded } from '../disk/attach/attachments.ts';
import { isOurs } from '../labels.ts';
import { requestDeletion, waitUntilGone } from '../remove-object.ts';
import { findVm, podReference, secretReference } from './find-vm.ts';

/**
 * Removes all that belongs to a VM and waits until it is gone; its disks stay, no longer attached. Missing is success.
 *
 * The Secret goes first: it owns the rest, so that whatever happens to us the cluster finishes the work. Attachments
 * are asked to end in the same breath: the pod cannot go while they hold its hub, nor they while its jobs use a disk.
 * Rejects with DEADLINE.
 */
export async function removeVm(cloud: Cloud, cid: string): Promise<void> {
  const [pod, secret, attachments] = await Promise.all([
    findVm(cloud, cid),
    findSecret(cloud, secretReference(cloud, cid)),
    listAttachments(cloud, cid),
  ]);
  const owned = [
    ...(secret === undefined
      ? []
      : [{ reference: secretReference(cloud, cid), uid: secret.metadata.uid ?? '' }]),
    ...(pod === undefined ? [] : [{ reference: podReference(cloud, cid), uid: pod.metadata.uid ?? '' }]),
  ];
  for (const { reference, uid } of owned) await requestDeletion(cloud, reference, uid);
  for (const attachment of attachments) await requestEnd(cloud, attachment);
  const deadlineSeconds = cloud.config.deadlines.deleteVm;
  await Promise.all([
    ...attachments.map((attachment) => waitUntilEnded(cloud, attachment, deadlineSeconds)),
    ...owned.map((object) => waitUntilGone(cloud, { ...object, deadlineSeconds, what: `VM '${cid}'` })),
  ]);
}

async function findSecret(cloud: Cloud, reference: ObjectReference): Promise<KubernetesObject | undefined> {
  try {
    const secret = await cloud.api.get(reference);
    return isOurs(secret, 'vm') ? secret : undefined;
  } catch (error) {
    if (isApiError(error, 404)) return undefined;
    throw error;
  }
}
