import { ignoreNotFound } from '../../kubernetes/api.ts';
import type { Pod } from '../../kubernetes/types/pod.ts';
import type { CallContext } from '../call.ts';
import type { SetVmMetadataRequest } from '../protocol/methods.ts';
import { deleteAttachmentsOfTerminatingVm } from '../disk/attach/attachments.ts';
import { metadataPatch } from '../objects/labels.ts';
import { findVm, vmNotFound } from './vms.ts';
import { podReference } from '../objects/names.ts';

/**
 * set_vm_metadata(vm_cid, metadata): patches the pod once; removes what an earlier call set and this one does
 * not. VM_NOT_FOUND if the pod is missing or the CPI does not manage it.
 */
export async function setVmMetadata(
  call: CallContext,
  { vmCid: cid, metadata }: SetVmMetadataRequest,
): Promise<null> {
  const patch = metadataPatch(metadata);
  // the CPI may not manage a pod of that name
  const exists = (await findVm(call, cid)) !== undefined;
  const pod = exists ? await ignoreNotFound(call.api.patch<Pod>(podReference(call, cid), patch)) : undefined;
  if (pod === undefined) throw vmNotFound(call, cid);
  await deleteAttachmentsOfTerminatingVm(call, pod);
  return null;
}
