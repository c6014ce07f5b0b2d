import { isApiError } from '../../../kubernetes/api-error.ts';
import { ignoreNotFound } from '../../../kubernetes/if-there.ts';
import type { Pod } from '../../../kubernetes/pod.ts';
import { pods } from '../../../kubernetes/resources.ts';
import type { ObjectReference } from '../../../kubernetes/api.ts';
import type { CallContext } from '../../cloud.ts';
import { diskNamespaceOf } from '../../cloud.ts';
import { createOrGet } from '../../create-unless-there.ts';
import { annotation, isManaged, label } from '../../labels.ts';
import { attachmentPodName, isDiskCid } from '../../names.ts';
import type { AttachmentPlan } from './attachment-pod.ts';
import type { DeletionWaitOptions } from '../../remove-object.ts';
import { requestDeletion, waitForDeletion } from '../../remove-object.ts';
import { findVm } from '../../vm/find-vm.ts';

/** The pod of that name where attachments live. */
export const attachmentReference = (cloud: CallContext, name: string): ObjectReference => ({
  resource: pods,
  namespace: diskNamespaceOf(cloud),
  name,
});

/** The attachment of a disk, to whatever VM. */
export async function findAttachment(cloud: CallContext, diskCid: string): Promise<Pod | undefined> {
  const pod = await ignoreNotFound(
    cloud.api.get<Pod>(attachmentReference(cloud, attachmentPodName(diskCid))),
  );
  return pod !== undefined && isManaged(pod, 'attachment') ? pod : undefined;
}

/** The attachments of a VM's disks, those that are on their way out too. */
export async function listAttachments(cloud: CallContext, vmCid: string): Promise<Pod[]> {
  return (await listHubPods(cloud, vmCid)).filter((pod) => isDiskCid(diskCidOf(pod)));
}

/** All that works in the hub of a VM: the attachments of its disks, and a sweeper (sweep-hub.ts). */
export async function listHubPods(cloud: CallContext, vmCid: string): Promise<Pod[]> {
  const { items } = await cloud.api.list<Pod>(pods, {
    namespace: diskNamespaceOf(cloud),
    labelSelector: `${label.kind}=attachment,${label.vmId}=${vmCid}`,
  });
  return items;
}

export const vmCidOf = (attachment: Pod): string => attachment.metadata.labels?.[label.vmId] ?? '';
export const diskCidOf = (attachment: Pod): string => attachment.metadata.labels?.[label.diskId] ?? '';

/** The VM that it was made for, with its namespace where that is another one than this CPI's. */
export function describeVmOf(cloud: CallContext, attachment: Pod): string {
  const namespace = vmNamespaceOf(cloud, attachment);
  return `VM '${vmCidOf(attachment)}'${namespace === cloud.namespace ? '' : ` of namespace ${namespace}`}`;
}

const vmNamespaceOf = (cloud: CallContext, { metadata }: Pod): string =>
  metadata.annotations?.[annotation.vmNamespace] ?? cloud.namespace;

/**
 * True while the very VM that it was made for is there, on its way out too. Of a VM in another namespace, which has its disks in
 * the same `disk_namespace`, this CPI may not know: it counts as there.
 */
export async function vmStillExists(cloud: CallContext, attachment: Pod): Promise<boolean> {
  if (vmNamespaceOf(cloud, attachment) !== cloud.namespace) return true;
  const vm = await findVm(cloud, vmCidOf(attachment));
  return vm !== undefined && vm.metadata.uid === attachment.metadata.annotations?.[annotation.vmUid];
}

/** Makes a pod that works in a VM's hub; undefined where one of its name is there already. */
export async function createAttachmentPod(cloud: CallContext, pod: Pod): Promise<Pod | undefined> {
  const ensured = await createOrGet(cloud.api, pods, pod);
  return ensured?.isNew === true ? ensured.object : undefined;
}

/** Where the pods of a VM's hub run, and what they mount. */
export function attachmentPlanBase(cloud: CallContext, vm: Pod): Omit<AttachmentPlan, 'diskCid'> {
  return {
    namespace: diskNamespaceOf(cloud),
    vm,
    nodeName: vm.spec.nodeName ?? '',
    kubeletRootDirectory: cloud.config.kubernetes.kubeletRootDirectory,
    directorUuid: cloud.directorUuid,
  };
}

/**
 * Asks for the end of an attachment without waiting. Its holder lets go of the disk as soon as nobody uses it, so
 * this never pulls a disk away; asked for first, it cannot be taken back either.
 */
export async function deleteAttachmentPod(cloud: CallContext, attachment: Pod): Promise<void> {
  const { name = '', uid = '' } = attachment.metadata;
  await requestDeletion(cloud, attachmentReference(cloud, name), uid);
}

/** The same for exactly the version that was read. False if it has changed since: its mount container may run by now. */
export async function requestEndOfSeen(cloud: CallContext, { metadata }: Pod): Promise<boolean> {
  const { name = '', uid = '', resourceVersion = '' } = metadata;
  const options = { preconditions: { uid, resourceVersion }, propagationPolicy: 'Background' } as const;
  try {
    await cloud.api.delete(attachmentReference(cloud, name), options);
    return true;
  } catch (error) {
    if (isApiError(error, 404)) return true;
    if (isApiError(error, 409)) return false;
    throw error;
  }
}

/**
 * Waits until an attachment is gone. It is never removed by force: what it holds may still be written to. On a lost node
 * `whenLost` decides; absent: NODE_LOST.
 */
export async function waitForAttachmentDeletion(
  cloud: CallContext,
  attachment: Pod,
  deadlineSeconds: number,
  onNodeLost?: DeletionWaitOptions['whenLost'],
): Promise<void> {
  const { name = '', uid = '' } = attachment.metadata;
  await waitForDeletion(cloud, {
    nodeName: attachment.spec.nodeName,
    ...(onNodeLost !== undefined && { whenLost: onNodeLost }),
    reference: attachmentReference(cloud, name),
    uid,
    deadlineSeconds,
    what: `the attachment of disk '${diskCidOf(attachment)}' to VM '${vmCidOf(attachment)}'`,
  });
}
