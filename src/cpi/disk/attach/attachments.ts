import { wouldDeleteData, findClaims } from './retained-claims.ts';
import { vmNotFound, recreateHint, findVm } from '../../vm/vms.ts';
import { isApiError } from '../../../kubernetes/client/api-error.ts';
import { ignoreNotFound, type ObjectReference } from '../../../kubernetes/api.ts';
import type { Pod } from '../../../kubernetes/types/pod.ts';
import { pods } from '../../../kubernetes/resources.ts';
import type { CallContext } from '../../call.ts';
import { createOrGet, type DeletionWaitOptions, requestDeletion, waitForDeletion } from '../../objects/objects.ts';
import { annotation, isManaged, label } from '../../objects/labels.ts';
import { attachmentPodName, isDiskCid } from '../../objects/names.ts';
import type { AttachmentPlan } from './attachment-pod-spec.ts';
import { isTerminal } from './attachment-pod.ts';
import { ProductError } from '../../../errors/product-error.ts';

/** Returns a reference to the pod of that name in the namespace of the attachment pods. */
export const attachmentReference = (call: CallContext, name: string): ObjectReference => ({
  resource: pods,
  namespace: call.diskNamespace,
  name,
});

/** Returns the attachment pod of a disk, of any VM. */
export async function findAttachment(call: CallContext, diskCid: string): Promise<Pod | undefined> {
  const pod = await ignoreNotFound(call.api.get<Pod>(attachmentReference(call, attachmentPodName(diskCid))));
  return pod !== undefined && isManaged(pod, 'attachment') ? pod : undefined;
}

/** Returns the attachment pods of a VM's disks, including terminating ones. */
export async function listAttachments(call: CallContext, vmCid: string): Promise<Pod[]> {
  return (await listHubPods(call, vmCid)).filter((pod) => isDiskCid(diskCidOf(pod)));
}

/**
 * Returns all pods that work in the hub of a VM: the attachment pods of its disks, and a sweeper
 * (leftover-mounts.ts).
 */
export async function listHubPods(call: CallContext, vmCid: string): Promise<Pod[]> {
  const { items } = await call.api.list<Pod>(pods, {
    namespace: call.diskNamespace,
    labelSelector: `${label.kind}=attachment,${label.vmId}=${vmCid}`,
  });
  return items;
}

export const vmCidOf = (attachment: Pod): string => attachment.metadata.labels?.[label.vmId] ?? '';
export const diskCidOf = (attachment: Pod): string => attachment.metadata.labels?.[label.diskId] ?? '';

/**
 * Describes the VM of an attachment pod, with its namespace if that is not the namespace of this CPI's VMs.
 */
export function describeVmOf(call: CallContext, attachment: Pod): string {
  const namespace = vmNamespaceOf(call, attachment);
  return `VM '${vmCidOf(attachment)}'${namespace === call.namespace ? '' : ` of namespace ${namespace}`}`;
}

const vmNamespaceOf = (call: CallContext, { metadata }: Pod): string =>
  metadata.annotations?.[annotation.vmNamespace] ?? call.namespace;

/**
 * Returns true while the VM of this attachment pod exists (same uid), also while it is terminating. A VM in
 * another namespace with the same `disk_namespace` is assumed to exist, because this CPI may not read it.
 */
export async function vmStillExists(call: CallContext, attachment: Pod): Promise<boolean> {
  if (vmNamespaceOf(call, attachment) !== call.namespace) return true;
  const vm = await findVm(call, vmCidOf(attachment));
  return vm !== undefined && vm.metadata.uid === attachment.metadata.annotations?.[annotation.vmUid];
}

/** Creates a pod that works in a VM's hub; undefined if one of that name exists. */
export async function createAttachmentPod(call: CallContext, pod: Pod): Promise<Pod | undefined> {
  const ensured = await createOrGet(call.api, pods, pod);
  return ensured?.isNew === true ? ensured.object : undefined;
}

/** Returns where the pods of a VM's hub run, and what they mount. */
export function attachmentPlanBase(call: CallContext, vm: Pod): Omit<AttachmentPlan, 'diskCid'> {
  return {
    namespace: call.diskNamespace,
    vm,
    nodeName: vm.spec.nodeName ?? '',
    kubeletRootDirectory: call.config.kubernetes.kubeletRootDirectory,
    directorUuid: call.directorUuid,
  };
}

/**
 * Deletes an attachment pod without waiting. Its container unmounts the disk when nothing uses it, so this
 * never interrupts a job. A deletion cannot be undone: call it only after the release succeeded.
 */
export async function deleteAttachmentPod(call: CallContext, attachment: Pod): Promise<void> {
  const { name = '', uid = '' } = attachment.metadata;
  await requestDeletion(call, attachmentReference(call, name), uid);
}

/**
 * Deletes an attachment pod in the version that was read, without waiting. Returns false if it has changed
 * since: its mount container may run now.
 */
export async function requestEndOfSeen(call: CallContext, { metadata }: Pod): Promise<boolean> {
  const { name = '', uid = '', resourceVersion = '' } = metadata;
  const options = { preconditions: { uid, resourceVersion }, propagationPolicy: 'Background' } as const;
  try {
    await call.api.delete(attachmentReference(call, name), options);
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
  call: CallContext,
  attachment: Pod,
  deadlineSeconds: number,
  onNodeLost?: DeletionWaitOptions['whenLost'],
): Promise<void> {
  const { name = '', uid = '' } = attachment.metadata;
  await waitForDeletion(call, {
    nodeName: attachment.spec.nodeName,
    ...(onNodeLost !== undefined && { whenLost: onNodeLost }),
    reference: attachmentReference(call, name),
    uid,
    deadlineSeconds,
    what: `the attachment of disk '${diskCidOf(attachment)}' to VM '${vmCidOf(attachment)}'`,
  });
}

/**
 * Deletes the attachment pods of a terminating VM; does nothing for any other VM. The VM's pod cannot end
 * before them, and without a preStop hook they do not notice, so every verb that sees such a VM calls this.
 * Keeps two kinds: (1) the claim was deleted by another program: the container has unmounted the disk, and
 * the volume would be deleted with the pod; (2) the attachment pod is terminal: no container is left that
 * waits for the jobs, so the disk would become free for another VM too early. Model: hot.pml
 */
export async function deleteAttachmentsOfTerminatingVm(call: CallContext, vm: Pod): Promise<void> {
  const { deletionTimestamp, name = '' } = vm.metadata;
  if (deletionTimestamp === undefined) return;
  const attachments = await listAttachments(call, name);
  const claims = await findClaims(call, attachments.map(diskCidOf));
  const lost = claims.flatMap((claim) =>
    claim !== undefined && wouldDeleteData(claim) ? [claim.metadata.name] : [],
  );
  for (const attachment of attachments) {
    if (attachment.metadata.deletionTimestamp !== undefined || lost.includes(diskCidOf(attachment))) continue;
    if (isTerminal(attachment)) continue;
    await deleteAttachmentPod(call, attachment);
  }
}

/** Returns the pod of a VM. Rejects with VM_NOT_FOUND if the pod is missing or terminating. */
export async function requireActiveVm(call: CallContext, cid: string, vm: Pod | undefined): Promise<Pod> {
  if (vm === undefined) throw vmNotFound(call, cid);
  if (vm.metadata.deletionTimestamp === undefined) return vm;
  await deleteAttachmentsOfTerminatingVm(call, vm);
  throw new ProductError('VM_NOT_FOUND', `VM '${cid}' is being deleted; when it is gone, ${recreateHint}`);
}
