import type { CallContext } from '../call.ts';
import type { HasVmRequest } from '../protocol/methods.ts';
import { deleteAttachmentsOfTerminatingVm } from '../disk/attach/attachments.ts';
import { findVm } from './vms.ts';

/** has_vm(vm_cid): true while the pod exists, in any state; false for a text that is not a VM cid. */
export async function hasVm(call: CallContext, { vmCid }: HasVmRequest): Promise<boolean> {
  const vm = await findVm(call, vmCid);
  if (vm !== undefined) await deleteAttachmentsOfTerminatingVm(call, vm);
  return vm !== undefined;
}
