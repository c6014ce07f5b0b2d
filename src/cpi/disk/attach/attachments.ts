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

/** Returns a reference to the pod of that name in the namespace of the attachment pods. */
export const attachmentReference = (cloud: CallContext, name: string): ObjectReference => ({
  resource: pods,
  namespace: diskNamespaceOf(cloud),
  name,
});

/** Returns the attachment pod of a disk, of any VM. */
export async function findAttachment(cloud: CallContext, diskCid: string): Promise<Pod | undefined> {
  const pod = await ignoreNotFound(
    cloud.api.get<Pod>(attachmentReference(cloud, attachmentPodName(diskCid))),
  );
  return pod !== undefined && isManaged(pod, 'attachment') ? pod : undefined;
}

/** Returns the attachment pods of a VM's disks, including terminating ones. */
export async function listAttachments(cloud: CallContext, vmCid: string): Promise<Pod[]> {
  return (await listHubPods(cloud, vmCid)).filter((pod) => isDiskCid(diskCidOf(pod)));
}

/**
 * Returns all pods that work in the hub of a VM: the attachment pods of its disks, and a sweeper
 * (sweep-hub.ts).
 */
export async function listHubPods(cloud: CallContext, vmCid: string): Promise<Pod[]> {
  const { items } = await cloud.api.list<Pod>(pods, {
    namespace: diskNamespaceOf(cloud),
    labelSelector: `${label.kind}=attachment,${label.vmId}=${vmCid}`,
  });
  return items;
}

export const vmCidOf = (attachment: Pod): string => attachment.metadata.labels?.[label.vmId] ?? '';
export const diskCidOf = (attachment: Pod): string => attachment.metadata.labels?.[label.diskId] ?? '';

/**
 * Describes the VM of an attachment pod, with its namespace if that is not the namespace of this CPI's VMs.
 */
export function describeVmOf(cloud: CallContext, attachment: Pod): string {
  const namespace = vmNamespaceOf(cloud, attachment);
  return `VM '${vmCidOf(attachment)}'${namespace === cloud.namespace ? '' : ` of namespace ${namespace}`}`;
}

const vmNamespaceOf = (cloud: CallContext, { metadata }: Pod): string =>
  metadata.annotations?.[annotation.vmNamespace] ?? cloud.namespace;

/**
 * Returns true while the VM of this attachment pod exists (same uid), also while it is terminating. A VM in
 * another namespace with the same `disk_namespace` is assumed to exist, because this CPI may not read it.
 */
export async function vmStillExists(cloud: CallContext, attachment: Pod): Promise<boolean> {
  if (vmNamespaceOf(cloud, attachment) !== cloud.namespace) return true;
  const vm = await findVm(cloud, vmCidOf(attachment));
  return vm !== undefined && vm.metadata.uid === attachment.metadata.annotations?.[annotation.vmUid];
}

/** Creates a pod that works in a VM's hub; undefined if one of that name exists. */
export async function createAttachmentPod(cloud: CallContext, pod: Pod): Promise<Pod | undefined> {
  const ensured = await createOrGet(cloud.api, pods, pod);
  return ensured?.isNew === true ? ensured.object : undefined;
}

/** Returns where the pods of a VM's hub run, and what they mount. */
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
 * Deletes an attachment pod without waiting. Its container unmounts the disk when nothing uses it, so this
 * never interrupts a job. A deletion cannot be undone: call it only after the release succeeded.
 */
export async function deleteAttachmentPod(cloud: CallContext, attachment: Pod): Promise<void> {
  const { name = '', uid = '' } = attachment.metadata;
  await requestDeletion(cloud, attachmentReference(cloud, name), uid);
}

/**
 * Deletes an attachment pod in the version that was read, without waiting. Returns false if it has changed
 * since: its mount container may run now.
 */
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
 * Waits until an attachment pod is deleted. Never force-deletes it: the disk may still be written to. On a
 * lost node `whenLost` decides. Default: reject with NODE_LOST.
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
